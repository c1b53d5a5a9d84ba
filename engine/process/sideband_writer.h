/* SPDX-License-Identifier: Apache-2.0 */
/* Converts process events to records, and sends them in batches. */
#pragma once

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "process/live_processes.h"
#include "process/sideband.h"
#include "process/sideband_event.h"
#include "process/text_budget.h"

#define SIDEBAND_BATCH_SIZE 65536u

struct sideband_writer {
	struct sideband_output output;
	struct text_budget *texts; /* NULL: unlimited */
	size_t size;               /* bytes used of batch */
	uint32_t count;
	int result; /* first failure of emit; nothing is emitted after it */
	alignas(8) unsigned char batch[SIDEBAND_BATCH_SIZE];
};

/* event: enum iaprof_process_event. name may be NULL. */
void sideband_write_process(struct sideband_writer *writer, uint64_t time, uint32_t event, uint32_t pid,
			    uint32_t parent_pid, const char *name, size_t name_length);

/*
 * The same with the rank of the process as part of its name, so that stacks are separate by rank in every output. A
 * name in a replay has it already.
 */
void sideband_write_named(struct sideband_writer *writer, uint64_t time, uint32_t event, uint32_t pid,
			  uint32_t parent_pid, const char *name, size_t name_length, struct ranked_name *ranked);

/* Reports that the environment of a process was not read, because that takes too long. */
void sideband_write_unanswered(struct sideband_writer *writer, uint32_t pid, uint64_t time);

/* Writes the name again if the rank was not known, and is now. Called while the process starts. */
void sideband_write_late_rank(struct sideband_writer *writer, uint64_t time, uint32_t pid, struct ranked_name *ranked);

/* Writes a SIDEBAND_MAPPING event, with the path as Linux reports it. flags: enum iaprof_mapping_flag. */
void sideband_write_mapping(struct sideband_writer *writer, const struct sideband_event *event, uint32_t flags);

/* Emits the current batch. Returns the first failure of emit since the last flush. */
int sideband_write_flush(struct sideband_writer *writer);
