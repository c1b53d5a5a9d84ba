/* SPDX-License-Identifier: Apache-2.0 */
/* A look through /proc: which processes there are, and what they have mapped. */
#ifndef IAPROF_CORE_PROCESS_PROC_SCAN_H
#define IAPROF_CORE_PROCESS_PROC_SCAN_H

#include "base/user_accounts.h"
#include "process/live_processes.h"
#include "process/sideband_writer.h"

/*
 * Writes an EXISTING record for each process (only those in pids when pid_count is not 0) and a MAPPING record for each
 * of its executable mappings, and adds it to live. Memory maps of users who are not trusted are read for a limited time
 * of the run, which users accounts for. Returns 0, or a negative errno with error set.
 */
int proc_scan(struct sideband_writer *writer, struct live_processes *live, struct user_accounts *users,
	      const uint32_t *pids, uint32_t pid_count, struct error *error);

/* Finds the effective user of a process, also of one that hides what it does: then root owns its files in /proc. */
bool proc_user(uint32_t pid, uint32_t *user);
/* Whether a process has no running thread any more, as /proc has it now. */
bool proc_has_ended(uint32_t pid);

#endif
