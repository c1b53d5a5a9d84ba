/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The use of the NPU in a live run: by phase, with elapsed time, and by process and context, with the processes that
 * have an NPU open and the memory that they have there, from /proc. One thread.
 */
#pragma once

#include "call_tree.h"
#include "npu/call_records.h"
#include "npu/use.h"

/* Initialise with {0}. */
struct live_use {
	struct npu_use use;
	struct busy_times busy; /* times at which a job was on the NPU */
};

void live_use_add(struct live_use *live, const struct ivpu_function *function, const struct calls *calls,
		  const struct call_place *place);
/*
 * Adds a job that has ended. Jobs are added in the order of their ends. run_time: of busy_engines_add(). thread_name:
 * the name of a process that has exited before its name was read; "" if not known.
 */
void live_use_add_job(struct live_use *live, const struct iaprof_record_job *job, uint64_t run_time,
		      const char *thread_name);
/* Reads the memory of the NPU's users. */
void live_use_read_memory(struct live_use *live);
/* Divides the length of the run (ns) among the phases: what no other phase has is idle. */
void live_use_finish(struct live_use *live, uint64_t length);

/* Descriptors of a process beyond these are not searched. */
#define NPU_USER_DESCRIPTORS_MAX 65536u

/* Calls found for each process that has an NPU open. proc is "/proc", or a copy for tests. */
void npu_users_find(const char *proc, void (*found)(void *context, uint32_t pid), void *context);

/*
 * Reads the bytes of memory that a process has on NPUs, as Linux 7.2 reports them. Returns false if it has none open,
 * or the driver does not report it.
 */
bool npu_user_memory(const char *proc, uint32_t pid, uint64_t *bytes);

/*
 * Adds the resident memory of a DRM client, in text like that of /proc/PID/fdinfo/FD (drm-usage-stats.rst). Returns
 * false if there is none. Pure.
 */
bool drm_memory_parse(const char *text, uint64_t *bytes);
