/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a text trace, each once, with what is known of it. Bounded: what has no room shares one. */
#ifndef IAPROF_PLUGINS_IVPU_TRACE_FUNCTION_H
#define IAPROF_PLUGINS_IVPU_TRACE_FUNCTION_H

#include <stdint.h>
#include "trace_calls.h"

struct trace_function {
	char name[TRACE_NAME_SIZE_MAX + 1];
	char short_name[TRACE_NAME_SIZE_MAX + 1]; /* as callers.h has them */
	const struct ivpu_function *known;
	const char *callers;            /* NULL not known */
	const struct call_entry *entry; /* NULL none */
	uint32_t id;                    /* in the records */
	uint64_t count;
	uint64_t map_last, map_count; /* as the map says */
};

/* Defined at that time when it is new. NULL: out of memory. */
struct trace_function *trace_function_get(struct trace_calls *calls, const char *name, uint64_t time);

#endif
