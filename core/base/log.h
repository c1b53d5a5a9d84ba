/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for the user on standard error, one line each, the status line kept out of their way. Any
 * thread. None waits for a reader that has stopped: such messages are counted, and the next that can be written is
 * preceded by their number. */
#ifndef IAPROF_CORE_BASE_LOG_H
#define IAPROF_CORE_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The highest level shown: enum iaprof_log_level; -q gives LOG_ERROR, -v INFO, -vv DEBUG. Default WARNING. */
void log_set_level(int level);
int log_level(void);

/* "iaprof: TEXT" for errors, "iaprof: warning: TEXT" and so on for the others. Control bytes become '?'. */
void log_message(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_message_va(int level, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Keeps messages and leaves out the status line (true), or shows what was kept (false). */
void log_hold(bool hold);

/* What the user should read though nothing is wrong: "iaprof: TEXT", shown unless -q. */
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes lines that are printable as they are, such as a table. */
void log_text(const char *text, size_t size);

/* Shows text (no newline at its end) as the status, of one line or several, or removes it (NULL). For a terminal's
 * standard error only. */
void log_status_line(const char *text);

#endif
