/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side-band records of perf_event_open(2), decoded: bytes in, an event out. For events opened with sample_id_all
 * and SIDEBAND_SAMPLE_TYPE.
 */
#ifndef IAPROF_CORE_PROCESS_SIDEBAND_EVENT_H
#define IAPROF_CORE_PROCESS_SIDEBAND_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#define SIDEBAND_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

enum sideband_event_kind {
	SIDEBAND_OTHER,   /* well formed, and of no interest */
	SIDEBAND_FORK,    /* of a process or a thread */
	SIDEBAND_EXIT,    /* of a thread */
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
	uint64_t lost;    /* LOST: how many records */
	const char *text; /* inside the bytes that were decoded, not terminated; NULL none */
	size_t text_length;
	uint64_t start, size, file_offset; /* MAPPING, and what follows */
	uint64_t inode, inode_generation;  /* 0 not known, and then no device number either */
	uint32_t device_major, device_minor;
	bool executable;
};

/* The size of the record that starts here, or 0 when the bytes do not hold a whole, well-formed one. */
size_t sideband_event_size(const void *bytes, size_t size);

/* The time of a record of sideband_event_size() bytes. */
uint64_t sideband_event_time(const void *bytes, size_t size);

/* Decodes one record of sideband_event_size() bytes. False when it is shorter than its type needs. */
bool sideband_event_decode(const void *bytes, size_t size, struct sideband_event *event);

#endif
