/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in tables: see tables.h. */
#include "tables.h"

#include <string.h>

#include "text/printable.h"
#include "text/short_name.h"

static const char *suffix_of(const struct iaprof_frame *frame)
{
	return frame->kind == IAPROF_FRAME_LINUX_KERNEL ? " [k]" : frame->kind == IAPROF_FRAME_JIT ? " [j]" : "";
}

static const char *name_of(const struct iaprof_frame *frame)
{
	if (!(frame->flags & IAPROF_FRAME_UNKNOWN) || !frame->module || strcmp(frame->name, "[unknown]"))
		return frame->name;
	return path_name(frame->module);
}

void frame_print(const struct iaprof_frame *frame, int width, FILE *file)
{
	struct text name = { 0 };
	if (width >= (int)SHORT_NAME_LEAST)
		text_append_short_name(&name, name_of(frame), (size_t)width);
	text_print_printable(name.size ? text_string(&name) : name_of(frame), width, file);
	text_free(&name);
	fprintf(file, "%s\n", suffix_of(frame));
}
