/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function of intel_vpu is called by which: what a trace without nesting can be put into a tree with. Names are
 * without the beginning "ivpu_" and without what the compiler appends to copies. Pure; any thread.
 */
#ifndef IAPROF_PLUGINS_IVPU_CALLERS_H
#define IAPROF_PLUGINS_IVPU_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

/* What runs one after another, on a thread of its own. */
enum call_lane {
	CALL_LANE_REQUEST, /* what programs ask for: ioctls, open, close */
	CALL_LANE_POWER,   /* resume and suspend: the kernel does one at a time */
	CALL_LANE_WORK,    /* threads and work items of the driver */
	CALL_LANE_INTERRUPT,
	CALL_LANE_UNKNOWN, /* nothing that can have called it is known */
	CALL_LANE_COUNT
};

/* How a function is entered when nothing of the driver called it. */
struct call_entry {
	const char *function;
	enum call_lane lane;
	bool may_be_nested;  /* if callers_allow() it; else nothing of the driver calls it */
	bool only_directly;  /* nested only right after its caller was entered */
	bool is_boot;        /* it boots the firmware */
	const char *context; /* what its calls are shown below, NULL none */
};

/* Names of callers with spaces between them; NULL: not known. */
const char *callers_find(const char *function);
bool callers_allow(const char *callers, const char *caller);

/* NULL: it is always called by another one, or not known. */
const struct call_entry *call_entry_find(const char *function);

/* Writes a name as the tables have it: "" for one that is not the driver's or does not fit. */
void call_name_shorten(const char *name, char *buffer, size_t size);

#endif
