/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the elapsed time of a text trace among the phases, without overlap, and sums its calls. One thread. */
#ifndef IAPROF_PLUGINS_IVPU_TRACE_PHASES_H
#define IAPROF_PLUGINS_IVPU_TRACE_PHASES_H

#include "npu_use.h"
#include "statistics.h"
#include "trace_place.h"

/* Initialise with {0}. */
struct trace_phases {
	struct npu_use use;
	uint64_t jobs_in_flight;
	enum ivpu_phase last;
	uint64_t last_time;
	bool has_time, was_boot;
};

/*
 * Adds a call that was placed, at a time (0: unknown). comm may be empty. Adds the time of boots to running, too.
 */
void trace_phases_add(struct trace_phases *phases, struct ivpu_running *running, const struct trace_frame *frame,
		      const char *comm, uint64_t time);
/* Adds counts without order, whose callers are not known. */
void trace_phases_count(struct trace_phases *phases, const struct trace_function *function, uint64_t count);

#endif
