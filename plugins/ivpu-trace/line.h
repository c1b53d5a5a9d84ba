/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a text trace, and a parser of bpftrace's own lines: "kprobe:intel_vpu:NAME", optionally after a time, or
 * a map's count, "@[kprobe:intel_vpu:NAME]: 12". Pure. Other forms: form.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/text_span.h"

#define TRACE_LINE_SIZE_MAX 1024u
/* KSYM_NAME_LEN was 128 until Linux 6.1. */
#define TRACE_NAME_SIZE_MAX 127u
/* TASK_COMM_LEN, and workers of the Linux kernel have longer names in traces. */
#define TRACE_COMM_SIZE_MAX 63u
/* PID_MAX_LIMIT of the Linux kernel: a larger number is no process id. */
#define TRACE_PID_MAX (4u * 1024 * 1024)

/* A PCI address. */
#define TRACE_DEVICE_SIZE_MAX 31u

enum trace_line_kind {
	TRACE_LINE_NOTHING, /* blank, statistics, a heading, a histogram, or a function's return */
	TRACE_LINE_CALL,
	TRACE_LINE_COUNT,   /* a count in a map, or of uniq -c */
	TRACE_LINE_HEADER,  /* "Attaching 223 probes..." */
	TRACE_LINE_LOST,    /* "Lost 12 events" of bpftrace */
	TRACE_LINE_REFUSED, /* anything else: why contains the reason */
	TRACE_LINE_RETURN,  /* of the innermost call at depth, with its duration */
	TRACE_LINE_OTHER,   /* a function or event of another part of the Linux kernel */
	TRACE_LINE_JOB,     /* a job was created, submitted, or is done */
	TRACE_LINE_MESSAGE, /* a message to or from the firmware */
	TRACE_LINE_POWER    /* name: what the driver reports about power management */
};

enum trace_time {
	TRACE_TIME_NONE,
	TRACE_TIME_OF_DAY,     /* 12:34:56, restarts at midnight */
	TRACE_TIME_SECONDS,    /* with a decimal point */
	TRACE_TIME_NANOSECONDS /* a whole number */
};

/* UNNAMED: perf prints the address of the event's name. */
enum trace_job_event { TRACE_JOB_CREATE, TRACE_JOB_SUBMIT, TRACE_JOB_DONE, TRACE_JOB_ABORT, TRACE_JOB_UNNAMED };

struct trace_line {
	enum trace_line_kind kind;
	enum trace_time time_kind;
	bool is_unit_known; /* the form defines the unit of time, as ftrace's does */
	bool is_column;     /* the number is right-aligned in 7 columns, as uniq -c writes counts */
	bool is_wide;       /* the number fills them, and may be a count, too */
	bool is_lone;       /* a number and a function, and nothing else */
	bool has_duration, has_depth;
	uint64_t time;   /* ns; if the unit is not known, as if NANOSECONDS were ns and SECONDS s */
	uint64_t number; /* of the line in the trace */
	uint64_t count;  /* COUNT, LOST */
	const char *why;
	char name[TRACE_NAME_SIZE_MAX + 1]; /* CALL, COUNT: contains only letters, digits, '_', '.' and '$' */
	char map[TRACE_NAME_SIZE_MAX + 1];  /* COUNT: name of the map without '@'; empty for "@" and for "@name: 12" */
	char caller[TRACE_NAME_SIZE_MAX + 1]; /* CALL: the function that called it; empty if not known */
	uint32_t pid;                         /* 0 if not known, or the idle task */
	char comm[TRACE_COMM_SIZE_MAX + 1];   /* may contain any byte but NUL */
	uint32_t lane;                        /* CALL, RETURN with has_depth: calls of equal lanes nest; a CPU or pid */
	uint32_t depth;                       /* if has_depth: nesting depth, 0: outermost */
	uint64_t duration;                    /* ns, if has_duration */
	struct {
		enum trace_job_event event;
		uint32_t context, engine;
		uint64_t number;                        /* the driver's, or a fence's */
		char device[TRACE_DEVICE_SIZE_MAX + 1]; /* "": the NPU, or not known */
	} job;                                          /* JOB */
	bool is_sent;                                   /* MESSAGE: to the firmware */
};

/* text: one line without its newline. */
void trace_line_parse(const char *text, size_t size, struct trace_line *line);

/* Parts of it, for other forms. */
void trace_line_refuse(struct trace_line *line, const char *why);
/* Stores a function's name. Returns false if it is not one. */
bool trace_line_set_name(char to[static TRACE_NAME_SIZE_MAX + 1], struct text_span name);
/* Stores a process id. Returns false if it is not one. */
bool trace_line_set_pid(struct trace_line *line, struct text_span pid);
/* Stores the name of a process without the blanks around it, or nothing if it is not one. */
void trace_line_set_comm(struct trace_line *line, struct text_span comm);
/* Removes a time, such as "12:34:56", "12.345678" or "[123456789]", and the blanks after it. */
bool trace_line_take_time(struct text_span *text, struct trace_line *line);
/* Removes "kprobe:", "kprobe:MODULE:" or a similar beginning. Returns false if there is none; sets *is_return. */
bool trace_line_take_probe(struct text_span *text, bool *is_return);
