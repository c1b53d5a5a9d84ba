/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static call graph of intel_vpu, from which calls in a trace without nesting are put into a tree. Names are
 * without the prefix "ivpu_" and without compiler suffixes such as ".isra.0". Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Contexts that run sequentially. */
enum call_lane {
	CALL_LANE_REQUEST, /* requests of programs: ioctls, open, close */
	CALL_LANE_POWER,   /* resume and suspend, one at a time */
	CALL_LANE_WORK,    /* threads and work items of the driver */
	CALL_LANE_INTERRUPT,
	CALL_LANE_UNKNOWN, /* no possible caller is known */
	CALL_LANE_COUNT
};

/* A function that is called from outside the driver. */
struct call_entry {
	const char *function;
	enum call_lane lane;
	bool may_be_nested;  /* call_graph_allows() decides; otherwise the driver never calls it */
	bool only_directly;  /* nested only directly after the entry of its caller */
	bool is_boot;        /* boots the firmware */
	const char *context; /* root frame of its calls, NULL if none */
};

/* Returns whether the driver never calls a function itself. entry may be NULL. */
static inline bool call_entry_is_outermost(const struct call_entry *entry)
{
	return entry && !entry->may_be_nested;
}

/* Returns the callers' names, separated by spaces, or NULL if they are unknown. */
const char *call_graph_callers(const char *function);
bool call_graph_allows(const char *callers, const char *caller);

/* Returns NULL for a function that is always called by another one, or is unknown. */
const struct call_entry *call_entry_find(const char *function);

/* Writes a name in the form used in the tables; "" if it is not the driver's or is too long. */
void call_name_shorten(const char *name, char *buffer, size_t size);
