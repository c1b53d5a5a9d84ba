/* SPDX-License-Identifier: Apache-2.0 */
/* See error.h. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "text/printable.h"

/*
 * Any open can run out of descriptors, in the core, a plugin or a library; the remedy is always the same. It is
 * appended only once, because a text may contain that of an inner cause.
 */
static void append_remedy(struct error *error)
{
	size_t length = strlen(error->text);
	struct rlimit limit;
	if (strstr(error->text, "ulimit -n") || strstr(error->text, "fs.file-max"))
		return;
	if (error->code == -EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
		snprintf(error->text + length, sizeof error->text - length,
			 ": raise the limit of open files (ulimit -n), which is %llu",
			 (unsigned long long)limit.rlim_cur);
	else if (error->code == -ENFILE)
		snprintf(error->text + length, sizeof error->text - length,
			 ": the whole machine has too many open files: raise sysctl fs.file-max");
}

int error_set_va(struct error *error, int code, const char *format, va_list arguments)
{
	code = -abs(code);
	if (!error)
		return code;
	error->code = code;
	vsnprintf(error->text, sizeof error->text, format, arguments);
	text_make_printable(error->text);
	append_remedy(error);
	return code;
}

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	code = error_set_va(error, code, format, arguments);
	va_end(arguments);
	return code;
}

int error_wrap_va(struct error *error, const char *format, va_list arguments)
{
	if (!error)
		return -1;
	char inner[ERROR_TEXT_SIZE];
	memcpy(inner, error->text, sizeof inner);
	int length = vsnprintf(error->text, sizeof error->text, format, arguments);
	if (length < 0 || (size_t)length >= sizeof error->text - 2)
		length = (int)strlen(error->text);
	text_make_printable(error->text);
	snprintf(error->text + length, sizeof error->text - (size_t)length, "%s%s", inner[0] ? ": " : "", inner);
	return error->code;
}

int error_wrap(struct error *error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int code = error_wrap_va(error, format, arguments);
	va_end(arguments);
	return code;
}
