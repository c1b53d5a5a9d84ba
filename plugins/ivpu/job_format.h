/* SPDX-License-Identifier: Apache-2.0 */
/* Field offsets of the tracepoint vpu:job, from its file `format` in tracefs: they differ between Linux kernels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_format {
	uint32_t event, context, engine, id; /* offsets in bytes */
};

/* Returns false if a field is missing or has an unexpected size. */
bool job_format_parse(struct job_format *format, const char *text);

/* Reads the file from tracefs. Returns false if the driver lacks the tracepoint or has a different one. */
bool job_format_read(struct job_format *format);

/* Returns whether no other system has an event of this name: a raw tracepoint is known by its name alone. */
bool job_name_is_unique(void);
