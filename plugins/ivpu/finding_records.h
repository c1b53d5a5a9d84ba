/* SPDX-License-Identifier: Apache-2.0 */
/* Emits findings about NPU use as FINDING records. */
#pragma once

#include <stdint.h>
#include "findings.h"
#include "records/record_batch.h"

/* These append records to a batch. They return 0 or a negative errno. */
/* Findings, or the note "npu-no-findings" if there are jobs and no findings. */
int ivpu_findings_emit(struct record_batch *batch, const struct ivpu_statistics *statistics,
		       const struct ivpu_limits *limits, uint64_t time);
/* Emits the note "npu-calls", unless there are no calls. */
int ivpu_overview_emit(struct record_batch *batch, const struct ivpu_overview *overview, uint64_t time);
/* Emits the note "npu-rates", unless there are no timestamps. */
int ivpu_rates_emit(struct record_batch *batch, const struct ivpu_statistics *statistics, uint64_t time);

/* Functions that were called and belong to no family: those of a newer driver. Initialise with {0}. */
struct ivpu_unknown_functions {
	char names[200]; /* the first of them */
	uint32_t count;
	uint64_t calls;
};
void ivpu_unknown_add(struct ivpu_unknown_functions *unknown, const char *name, uint64_t calls);
/* Appends a note that names them, nothing if there are none. Returns 0 or a negative errno. */
int ivpu_unknown_emit(struct record_batch *batch, const struct ivpu_unknown_functions *unknown, uint64_t time);
