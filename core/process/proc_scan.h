/* SPDX-License-Identifier: Apache-2.0 */
/* A look through /proc: which processes there are, and what they have mapped. */
#ifndef IAPROF_CORE_PROCESS_PROC_SCAN_H
#define IAPROF_CORE_PROCESS_PROC_SCAN_H

#include "process/live_processes.h"
#include "process/sideband_writer.h"

/*
 * Writes an EXISTING record for each process (only those in pids when pid_count is not 0) and a MAPPING record for each
 * of its executable mappings, and adds it to live. Returns 0, or a negative errno with error set.
 */
int proc_scan(struct sideband_writer *writer, struct live_processes *live, const uint32_t *pids, uint32_t pid_count,
	      struct error *error);

/* Whether a process has no running thread any more, as /proc has it now. */
bool proc_has_ended(uint32_t pid);

/*
 * The effective user id of a process, as /proc has it now: also of one that hides its owner there (PR_SET_DUMPABLE of
 * prctl(2)). Returns 0 or a negative errno.
 */
int proc_user(uint32_t pid, uint32_t *user);

#endif
