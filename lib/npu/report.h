/* SPDX-License-Identifier: Apache-2.0 */
/* Emits the findings and notes at the end of an NPU run as FINDING records, the tables of phases and users included. */
#pragma once

#include <stdint.h>
#include "npu/findings.h"
#include "npu/use.h"
#include "records/record_batch.h"

/* Functions that were called and belong to no family: those of a newer driver. Initialise with {0}. */
struct ivpu_unknown_functions {
	char names[200]; /* the first of them */
	uint32_t count;
	uint64_t calls;
};
void ivpu_unknown_add(struct ivpu_unknown_functions *unknown, const char *name, uint64_t calls);

struct npu_report {
	struct ivpu_statistics statistics;
	struct ivpu_unknown_functions unknown;
	struct {
		uint64_t traced, driver; /* ns, by jobs and by the driver's counter; driver 0: unknown, or never busy */
	} busy;
	/* Borrowed. */
	const struct ivpu_overview *overview;
	const struct npu_use *use;
	const struct command_queues *queues;
	const struct ivpu_limits *limits;
};

/* Appends the records to a batch, after completing the statistics by the use. Returns 0 or a negative errno. */
int npu_report_emit(struct npu_report *report, struct record_batch *batch, uint64_t time);
