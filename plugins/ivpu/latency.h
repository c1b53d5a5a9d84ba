/* SPDX-License-Identifier: Apache-2.0 */
/* Latency histograms of driver functions, aggregated in the Linux kernel, as HISTOGRAM records. */
#pragma once

#include <stdint.h>
#include "probes.h"
#include "records/record_batch.h"

/*
 * Appends the histograms of the whole run, from begin to time. Called once, after the programs are detached. Returns 0
 * or a negative errno after host->fail().
 */
int latency_send(const struct probes *probes, struct record_batch *batch, uint64_t begin, uint64_t time);

/* Returns the time of the longest firmware boot (ns), with the resume that it is part of; 0: none. */
uint64_t latency_longest_boot(const struct probes *probes);
