/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of traces as frames, by stack: the largest ones have a frame each, and all others share one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/string_table.h"
#include "text/text.h"

/* Maximum number of spans with a frame of their own: those with the largest shares of the values. */
#define STACK_SPANS_MAX 4096u

/* Initialise with {0}. */
struct stack_spans {
	/* Names of frames: "TRACE-SPAN" in hexadecimal; the last one may be "N other spans". */
	struct string_table names;
	uint32_t *ids; /* by stack: id of its name; 0: no span */
};

/* Names the spans of a profile's stacks, which are freed in any case. Returns false when out of memory. */
bool stack_spans_make(struct stack_spans *spans, const struct iaprof_profile *profile);
void stack_spans_free(struct stack_spans *spans);

/* Appends the name of a span: "TRACE-SPAN". */
static inline void stack_spans_append_name(struct text *text, const struct iaprof_span *span)
{
	text_append_hexadecimal(text, span->trace_id, sizeof span->trace_id);
	text_append_string(text, "-");
	text_append_hexadecimal(text, span->span_id, sizeof span->span_id);
}
