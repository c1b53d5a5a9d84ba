/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to feed a process table and to ask it, for its tests. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "process/process.h"

static inline void feed_process(struct process_table *table, uint64_t time, uint32_t event, uint32_t pid,
				uint32_t parent_pid, const char *name)
{
	struct iaprof_record_process record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_PROCESS, .time = time },
		.pid = pid,
		.parent_pid = parent_pid,
		.event = event,
	};
	if (process_table_event(table, &record, name, false)) /* a passed assertion costs a system call */
		ck_abort_msg("event refused");
}

static inline void feed_mapping(struct process_table *table, uint64_t time, uint32_t pid, uint64_t start, uint64_t end,
				uint32_t flags, const char *path)
{
	struct iaprof_record_mapping record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_MAPPING, .time = time },
		.pid = pid,
		.start = start,
		.size = end - start,
		.flags = flags,
	};
	if (process_table_mapping(table, &record, path))
		ck_abort_msg("mapping refused");
}

/* The path of what is mapped at an address of a pid at a time; "" nothing, NULL no such process. */
static inline const char *ask_path(struct process_table *table, uint64_t time, uint32_t pid, uint64_t address)
{
	struct process *process = process_table_find(table, pid, time);
	if (!process)
		return NULL;
	const struct mapping *mapping = process_mapping_at(table, process, address, time);
	return mapping ? mapping->path : "";
}

#define FORK(table, time, pid, parent) feed_process(table, time, IAPROF_PROCESS_FORK, pid, parent, NULL)
#define EXEC(table, time, pid, name) feed_process(table, time, IAPROF_PROCESS_EXEC, pid, 0, name)
#define EXIT(table, time, pid) feed_process(table, time, IAPROF_PROCESS_EXIT, pid, 0, NULL)
#define NAME(table, time, pid, name) feed_process(table, time, IAPROF_PROCESS_NAME, pid, 0, name)
#define EXISTING(table, time, pid, parent, name) feed_process(table, time, IAPROF_PROCESS_EXISTING, pid, parent, name)
#define MAP(table, time, pid, start, end, path) feed_mapping(table, time, pid, start, end, 0, path)
#define MAP_EXISTING(table, time, pid, start, end, path)                                                               \
	feed_mapping(table, time, pid, start, end, IAPROF_MAPPING_EXISTING, path)
#define NAME_AT(table, pid, time) process_table_find(table, pid, time)->name
