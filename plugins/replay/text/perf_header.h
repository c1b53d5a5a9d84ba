/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line of a sample of perf script, "COMM PID/TID [CPU] TIME: PERIOD EVENT: ...", of which -F can leave out
 * any part, and the lines of its stack. tools/perf/builtin-script.c of Linux 6.1 prints them.
 */
#ifndef IAPROF_PLUGINS_REPLAY_PERF_HEADER_H
#define IAPROF_PLUGINS_REPLAY_PERF_HEADER_H

#include "text_profile.h"

struct perf_header {
	struct text_span comm; /* empty: not there */
	uint32_t pid;          /* 0 not known: a number without '/' is the thread's, unless -F says otherwise */
	bool has_time, has_period;
	uint64_t time, period;  /* ns */
	struct text_span event; /* as it is there, without the colon; empty: not there */
	struct text_span rest;  /* behind all that: the fields of a tracepoint, or the only frame */
	bool is_certain;        /* has a time or an event; else it may be any short text */
};

/* False: the line is none. */
bool perf_header_read(struct text_span line, struct perf_header *header);

/* "ADDRESS SYMBOL+0xOFFSET (MODULE)", all but the address optional. False: it is none. */
bool perf_frame_read(struct text_span line, struct text_frame *frame);

#endif
