/* SPDX-License-Identifier: Apache-2.0 */
/* Where the fields of the tracepoint vpu:job are: its file `format` in tracefs, which is not the same in all kernels.
 */
#ifndef IAPROF_PLUGINS_IVPU_JOB_FORMAT_H
#define IAPROF_PLUGINS_IVPU_JOB_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct job_format {
	uint32_t event, context, engine, id; /* offsets in bytes */
};

/* false: a field is missing, or is not of the size that the programs read. */
bool job_format_parse(struct job_format *format, const char *text);

/* Reads the file below tracefs, wherever that is mounted. false: the driver has no such tracepoint, or another one. */
bool job_format_read(struct job_format *format);

#endif
