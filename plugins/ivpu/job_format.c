/* SPDX-License-Identifier: Apache-2.0 */
/* See job_format.h. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include "job_format.h"

/* Larger than any tracepoint record: perf's limit is 8 KiB (PERF_MAX_TRACE_SIZE, include/linux/trace_events.h). */
#define OFFSET_MAX 8192u

/* A line: "\tfield:u32 ctx_id;\toffset:16;\tsize:4;\tsigned:0;". The name ends the declaration. */
static bool field_parse(const char *line, const char *name, uint32_t size, uint32_t *offset)
{
	char declaration[128];
	unsigned int at, bytes;

	if (sscanf(line, " field:%127[^;]; offset:%u; size:%u;", declaration, &at, &bytes) != 3)
		return false;
	const char *last = strrchr(declaration, ' ');
	if (!last || strcmp(last + 1, name) || bytes != size || at > OFFSET_MAX)
		return false;
	*offset = at;
	return true;
}

bool job_format_parse(struct job_format *format, const char *text)
{
	const struct {
		const char *name;
		uint32_t size;
		uint32_t *offset;
	} fields[] = { { "event", sizeof(void *), &format->event },
		       { "ctx_id", 4, &format->context },
		       { "engine_id", 4, &format->engine },
		       { "job_id", 4, &format->id } };
	unsigned int found = 0;

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		for (unsigned int i = 0; i < 4; i++)
			found |= (unsigned int)field_parse(line, fields[i].name, fields[i].size, fields[i].offset) << i;
	return found == 0xf;
}

bool job_format_read(struct job_format *format)
{
	static const char *const paths[] = { "/sys/kernel/tracing/events/vpu/job/format",
					     "/sys/kernel/debug/tracing/events/vpu/job/format" };
	char text[4096] = "";

	for (unsigned int i = 0; i < 2 && !*text; i++) {
		FILE *file = fopen(paths[i], "re");
		if (!file)
			continue;
		text[fread(text, 1, sizeof text - 1, file)] = '\0';
		fclose(file);
	}
	return job_format_parse(format, text);
}

bool job_name_is_unique(void)
{
	static const char *const patterns[] = { "/sys/kernel/tracing/events/*/job",
						"/sys/kernel/debug/tracing/events/*/job" };
	size_t count = 0;

	for (unsigned int i = 0; i < 2 && !count; i++) {
		glob_t found = { 0 };
		if (glob(patterns[i], 0, NULL, &found) == 0)
			count = found.gl_pathc;
		globfree(&found);
	}
	return count == 1;
}
