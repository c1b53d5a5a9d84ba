/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the first line of a sample in perf script's output, "COMM PID/TID [CPU] TIME: PERIOD EVENT: ...", any part of
 * which -F can omit, and the lines of its stack. See tools/perf/builtin-script.c of Linux 6.1.
 */
#pragma once

#include "text_profile.h"

struct perf_header {
	struct text_span comm; /* empty: missing */
	uint32_t pid;          /* 0: unknown; a number without '/' is the thread's unless -F specifies otherwise */
	bool has_time, has_period, has_thread;
	uint64_t time, period;  /* ns */
	struct text_span event; /* as in the file, without the colon; empty: none */
	struct text_span rest;  /* everything after that: the fields of a tracepoint, or the only frame */
	bool is_certain;        /* has a time or an event; otherwise, it may be any short text */
};

/* Returns false if the line is not a header. */
bool perf_header_read(struct text_span line, struct perf_header *header);

/* Parses "ADDRESS SYMBOL+0xOFFSET (MODULE)"; only the address is required. Returns false if the line is not a frame. */
bool perf_frame_read(struct text_span line, struct text_frame *frame);
