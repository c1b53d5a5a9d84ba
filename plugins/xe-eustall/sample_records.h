/* SPDX-License-Identifier: Apache-2.0 */
/* The records that this source emits. Each function returns 0 or a negative errno. */
#pragma once

#include "records/record_batch.h"
#include "row_layout.h"

struct sampler;

/* STALL_REASON for all reasons of any layout, once per source. */
int records_declare_reasons(struct record_batch *batch);

/* DEVICE, and COUNTER for its rows and overflows. */
int records_declare_device(struct record_batch *batch, const struct sampler *sampler);

/* COUNTER_VALUE of rows and overflows so far. */
int records_set_counters(struct record_batch *batch, const struct sampler *sampler, uint64_t time);

/* STALL_SAMPLE per address in the sampler's fold. */
int records_add_samples(struct record_batch *batch, const struct sampler *sampler);

/* FINDING: overflows between begin and end. */
int records_add_overflow_finding(struct record_batch *batch, const struct sampler *sampler);
