/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the GPUs that programs use, from NVML: power, clocks, memory, utilization, and what keeps clocks down. A
 * thread of its own reads them, so that no other one waits for NVML, and the loop's thread sends what it has read.
 * Without NVML, there are none.
 */
#pragma once

#include <stdint.h>
#include <records/record_batch.h>

struct gpu_counters;

/* library: of NVML. interval: ns. Returns NULL when out of memory. */
struct gpu_counters *gpu_counters_new(const char *library, uint64_t interval);
/* Adds a GPU, by the id of its DEVICE record and its PCI address. NULL: does nothing, as below. */
void gpu_counters_add(struct gpu_counters *counters, uint32_t device, const char *address);
void gpu_counters_send(struct gpu_counters *counters, struct record_batch *batch);
/* Ends the thread, which is left alone if it waits for NVML, and reports what could not be read and what it took. */
void gpu_counters_end(struct gpu_counters *counters, const struct iaprof_host *host);
