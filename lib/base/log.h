/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for the user on standard error, one line each, separate from the status line. Any thread. No function waits
 * for a blocked reader: such messages are dropped, and the next message is preceded by their number.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The highest level shown: enum iaprof_log_level; -q gives LOG_ERROR, -v INFO, -vv DEBUG. Default WARNING. */
void log_set_level(int level);
int log_level(void);

/* Writes "iaprof: TEXT" for errors, "iaprof: warning: TEXT" and so on for other levels. Control bytes become '?'. */
void log_message(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_message_va(int level, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Reports how often warnings of one cause were repeated, which are shown once unless -v. Then begins anew. */
void log_repeated(void);

/* Holds messages back and hides the status line (true), or releases them (false). */
void log_hold(bool hold);

/* Writes "iaprof: TEXT", for information that is not an error, unless -q. */
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes printable lines as they are, such as a table. */
void log_text(const char *text, size_t size);

/*
 * Shows text (one or more lines, without a trailing newline) as the status, or removes the status (NULL). For terminals
 * only.
 */
void log_status_line(const char *text);
