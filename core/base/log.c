/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and the status line on standard error: see log.h. The only mutable state at file scope is the terminal's. */
#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/host.h>

#include "base/printable.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shown_level = IAPROF_LOG_WARNING;
static bool status_line_shown;

/* Carriage return, then "erase to the end of the line" (ECMA-48 EL). */
#define ERASE_LINE "\r\033[K"

void log_set_level(int level)
{
	__atomic_store_n(&shown_level, level, __ATOMIC_RELAXED);
}

int log_level(void)
{
	return __atomic_load_n(&shown_level, __ATOMIC_RELAXED);
}

static void print_line(const char *prefix, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
static void print_line(const char *prefix, const char *format, va_list arguments)
{
	char text[4096];
	vsnprintf(text, sizeof text, format, arguments);
	text_make_printable(text);
	pthread_mutex_lock(&lock);
	fprintf(stderr, "%s%s%s\n", status_line_shown ? ERASE_LINE : "", prefix, text);
	status_line_shown = false;
	pthread_mutex_unlock(&lock);
}

void log_message_va(int level, const char *format, va_list arguments)
{
	static const char *const prefixes[] = { "iaprof: ", "iaprof: warning: ", "iaprof: ", "iaprof: debug: " };
	if (level <= log_level())
		print_line(prefixes[level < 0 ? 0 : level > 3 ? 3 : level], format, arguments);
}

void log_notice(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (log_level() >= IAPROF_LOG_WARNING)
		print_line("iaprof: ", format, arguments);
	va_end(arguments);
}

void log_message(int level, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	log_message_va(level, format, arguments);
	va_end(arguments);
}

void log_status_line(const char *text)
{
	pthread_mutex_lock(&lock);
	if (text)
		fprintf(stderr, ERASE_LINE "%s", text);
	else if (status_line_shown)
		fputs(ERASE_LINE, stderr);
	fflush(stderr);
	status_line_shown = text != NULL;
	pthread_mutex_unlock(&lock);
}
