/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and the status line on standard error: see log.h. The only mutable state at file scope is the terminal's. */
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/printable.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shown_level = IAPROF_LOG_WARNING;
static unsigned status_lines; /* shown; 0: none */
static bool holding;
static char held[65536]; /* lines that wait */
static size_t held_size;
static unsigned long held_too_many;

/* Carriage return, then "erase to the end of the line" (ECMA-48 EL). */
#define ERASE_LINE "\r\033[K"

/* Leaves the cursor where the status began. "Cursor up", "erase to the end of the screen" (ECMA-48 CUU, ED). */
static void erase_status(void)
{
	if (status_lines > 1)
		fprintf(stderr, "\r\033[%uA\033[J", status_lines - 1);
	else if (status_lines)
		fputs(ERASE_LINE, stderr);
	status_lines = 0;
}

void log_set_level(int level)
{
	__atomic_store_n(&shown_level, level, __ATOMIC_RELAXED);
}

int log_level(void)
{
	return __atomic_load_n(&shown_level, __ATOMIC_RELAXED);
}

static void hold_line(const char *prefix, const char *text)
{
	size_t room = sizeof held - held_size;
	int length = snprintf(held + held_size, room, "%s%s\n", prefix, text);
	if (length > 0 && (size_t)length < room)
		held_size += (size_t)length;
	else
		held_too_many++;
}

void log_hold(bool hold)
{
	pthread_mutex_lock(&lock);
	if (hold)
		erase_status();
	fwrite(held, 1, held_size, stderr);
	if (held_too_many)
		fprintf(stderr, "iaprof: warning: %lu more messages found no room while they waited\n", held_too_many);
	fflush(stderr);
	held_size = 0;
	held_too_many = 0;
	holding = hold;
	pthread_mutex_unlock(&lock);
}

static void print_line(const char *prefix, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
static void print_line(const char *prefix, const char *format, va_list arguments)
{
	char text[4096];
	vsnprintf(text, sizeof text, format, arguments);
	text_make_printable(text);
	pthread_mutex_lock(&lock);
	if (holding) {
		hold_line(prefix, text);
	} else {
		erase_status();
		fprintf(stderr, "%s%s\n", prefix, text);
	}
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

/* A line that the terminal breaks in two, or lines that it has no room for, could not be erased again: of long ones the
 * begin is shown, of many the last. The window may have changed since the last time. */
static void print_status(const char *text)
{
	struct winsize window = { 0 };
	int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1 : 79;
	unsigned rows = window.ws_row > 1 ? window.ws_row - 1u : 23, lines = 1;

	for (const char *newline = text; (newline = strchr(newline, '\n')); newline++)
		lines++;
	for (; lines > rows; lines--)
		text = strchr(text, '\n') + 1;
	for (status_lines = 0; status_lines < lines; status_lines++) {
		char line[256];
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), text);
		if (status_lines)
			fputc('\n', stderr);
		text_print_printable(line, columns, stderr);
		text += length + (text[length] != '\0');
	}
}

void log_status_line(const char *text)
{
	pthread_mutex_lock(&lock);
	bool is_first = !status_lines;
	erase_status();
	if (text && !holding) {
		if (is_first) /* something else may have been written there */
			fputs(ERASE_LINE, stderr);
		print_status(text);
	}
	fflush(stderr);
	pthread_mutex_unlock(&lock);
}
