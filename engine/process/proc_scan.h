/* SPDX-License-Identifier: Apache-2.0 */
/* Scan of /proc for existing processes and their mappings. */
#pragma once

#include "process/user_accounts.h"
#include "process/live_processes.h"
#include "process/sideband_writer.h"

/*
 * Writes an EXISTING record for each process (only those in pids when pid_count is not 0) and a MAPPING record for each
 * of its executable mappings, and adds it to live. The time for reading memory maps of untrusted users is limited per
 * run and charged to users. Returns 0, or a negative errno with error set.
 */
int proc_scan(struct sideband_writer *writer, struct live_processes *live, struct user_accounts *users,
	      const uint32_t *pids, uint32_t pid_count, struct error *error);
