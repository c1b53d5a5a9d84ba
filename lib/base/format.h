/* SPDX-License-Identifier: Apache-2.0 */
/* Formatted text in newly allocated memory. */
#pragma once

#include <stdarg.h>
#include <stdio.h>

/* As asprintf(), but returns the text, which the caller frees; NULL when out of memory. */
__attribute__((format(printf, 1, 2))) static inline char *format_new(const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : text;
}
