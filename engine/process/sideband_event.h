/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes side-band records of perf_event_open(2), of events opened with sample_id_all and SIDEBAND_SAMPLE_TYPE. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include <iaprof/record.h>

#include "process/process_maps.h"

#define SIDEBAND_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

enum sideband_event_kind {
	SIDEBAND_OTHER,   /* well-formed and ignored */
	SIDEBAND_FORK,    /* a process or thread was forked */
	SIDEBAND_EXIT,    /* a thread exited */
	SIDEBAND_NAME,    /* text: the new name of a thread */
	SIDEBAND_EXEC,    /* text: the new name of the process */
	SIDEBAND_MAPPING, /* text: the path */
	SIDEBAND_LOST
};

struct sideband_event {
	enum sideband_event_kind kind;
	uint32_t pid, tid;
	uint32_t parent_pid; /* FORK */
	uint64_t time;
	uint64_t lost;    /* LOST: number of records */
	const char *text; /* in the decoded bytes, not NUL-terminated; NULL if none */
	size_t text_length;
	uint64_t start, size, file_offset; /* MAPPING, as the following members */
	uint64_t inode, inode_generation;  /* 0 if unknown, as the device number then */
	uint32_t device_major, device_minor;
	bool executable, shared;
};

/* Returns the size of the record that starts here, or 0 if the bytes do not contain a whole, well-formed one. */
size_t sideband_event_size(const void *bytes, size_t size);

/* Returns the time of a record of sideband_event_size() bytes. */
uint64_t sideband_event_time(const void *bytes, size_t size);

/* Returns the process that caused a record of sideband_event_size() bytes. */
uint32_t sideband_event_process(const void *bytes, size_t size);

/* Decodes a record of sideband_event_size() bytes. Returns false if it is too short for its type. */
bool sideband_event_decode(const void *bytes, size_t size, struct sideband_event *event);

/* Returns the event of a mapping that exists at this time. Its text is the mapping's path. */
struct sideband_event sideband_event_of_mapping(uint32_t pid, uint64_t time, const struct process_mapping *mapping);
/* Returns the record of a MAPPING event, without the path. flags: enum iaprof_mapping_flag. */
struct iaprof_record_mapping sideband_event_record(const struct sideband_event *event, uint32_t flags);
