/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of what bpftrace writes about calls: "kprobe:intel_vpu:NAME", with or without a time before it, or the count
 * of a map when it ends, "@[kprobe:intel_vpu:NAME]: 12". Pure: bytes in, one struct out.
 */
#ifndef IAPROF_PLUGINS_IVPU_TRACE_TEXT_H
#define IAPROF_PLUGINS_IVPU_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_LINE_SIZE_MAX 1024u
/* KSYM_NAME_LEN was 128 until Linux 6.1. */
#define TRACE_NAME_SIZE_MAX 127u

enum trace_line_kind {
	TRACE_LINE_NOTHING, /* blank, a histogram, statistics, the return of a function */
	TRACE_LINE_CALL,
	TRACE_LINE_COUNT,  /* of a map */
	TRACE_LINE_HEADER, /* "Attaching 223 probes..." */
	TRACE_LINE_LOST,   /* "Lost 12 events": bpftrace could not write these */
	TRACE_LINE_REFUSED /* none of these: why says what is wrong */
};

enum trace_time {
	TRACE_TIME_NONE,
	TRACE_TIME_OF_DAY, /* 12:34:56, begins again at midnight */
	TRACE_TIME_SECONDS,
	TRACE_TIME_NANOSECONDS
};

struct trace_line {
	enum trace_line_kind kind;
	enum trace_time time_kind;
	uint64_t time;  /* ns */
	uint64_t count; /* COUNT, LOST */
	const char *why;
	char name[TRACE_NAME_SIZE_MAX + 1]; /* CALL, COUNT: letters, digits, '_', '.' and '$' */
	char map[TRACE_NAME_SIZE_MAX + 1];  /* COUNT: the map's, without '@'; empty for "@" and for "@name: 12" */
};

/* text: without the newline at its end. */
void trace_line_parse(const char *text, size_t size, struct trace_line *line);

#endif
