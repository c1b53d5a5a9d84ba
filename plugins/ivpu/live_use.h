/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the use of the NPU in a live run: by phase, with elapsed time, and by process and context. One thread. */
#pragma once

#include "busy_times.h"
#include "call_records.h"
#include "call_tree.h"
#include "npu_use.h"

/* Initialise with {0}. */
struct live_use {
	struct npu_use use;
	struct busy_times busy; /* times at which a job was on the NPU */
};

void live_use_add(struct live_use *live, const struct ivpu_function *function, const struct calls *calls,
		  const struct call_place *place);
/*
 * Adds a job that has ended. Jobs are added in the order of their ends. thread_name: the name of a process that has
 * exited before its name was read; "" if not known.
 */
void live_use_add_job(struct live_use *live, const struct iaprof_record_job *job, const char *thread_name);
/* Reads the memory of the NPU's users. */
void live_use_read_memory(struct live_use *live);
/* Divides the length of the run (ns) among the phases: what no other phase has is idle. */
void live_use_finish(struct live_use *live, uint64_t length);
