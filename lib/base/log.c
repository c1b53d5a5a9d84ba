/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and the status line on standard error: see log.h. The terminal's state is the only mutable state at file
 * scope.
 */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "text/plural.h"
#include "text/printable.h"
#include "base/repeated_messages.h"
#include "base/stream.h"

/* Timeout for a reader of standard error that has kept up so far, ms. */
#define READER_PATIENCE 100
/* Maximum length of a message: with its prefix, it fits into one write to a pipe. */
#define MESSAGE_SIZE (PIPE_BUF - 64)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shown_level = IAPROF_LOG_WARNING;
static unsigned status_lines; /* number of lines shown; 0: none */
static bool holding;
static char held[65536]; /* lines held back */
static size_t held_size;
static unsigned long held_too_many;
static struct repeated_messages repeated;
static unsigned long unread; /* messages dropped because standard error was full, until they are reported */

static void acquire(void)
{
	pthread_mutex_lock(&lock);
}

static void release(void)
{
	pthread_mutex_unlock(&lock);
}

/* A process that is forked while another thread writes a message can write its own. */
__attribute__((constructor)) static void prepare_for_fork(void)
{
	(void)pthread_atfork(acquire, release, release);
}

/* Writes a text of at most PIPE_BUF bytes completely, or as much of a longer one as fits. */
static bool write_part(const struct stream *stream, const char *text, size_t size)
{
	while (size) {
		struct pollfd descriptor = { .fd = stream->descriptor, .events = POLLOUT };
		int ready = poll(&descriptor, 1, unread ? 0 : READER_PATIENCE);
		if (ready < 0 && errno == EINTR)
			continue;
		ssize_t written = ready > 0 ? stream_write(stream, text, size) : -1;
		if (written < 0 && ready > 0 && errno == EINTR)
			continue;
		if (written < 0)
			return false;
		text += written;
		size -= (size_t)written;
	}
	return true;
}

static bool write_unread(const struct stream *stream)
{
	char text[128];
	if (!unread)
		return true;
	int length =
		snprintf(text, sizeof text, "iaprof: warning: dropped %lu message%s (standard error was blocked)\n",
			 unread, plural(unread));
	if (!write_part(stream, text, (size_t)length))
		return false;
	unread = 0;
	return true;
}

/* Returns the number of bytes to write in one call: whole lines if they are short enough. */
static size_t part_size(const char *text, size_t size)
{
	size_t room = size < PIPE_BUF ? size : PIPE_BUF;
	const char *end = memrchr(text, '\n', room);
	return end ? (size_t)(end - text) + 1 : room;
}

/* Writes to standard error without waiting for a blocked reader. The lock must be held. */
static void emit(const char *text, size_t size)
{
	struct stream stream = STREAM_INIT;
	bool is_own = !stream_open(&stream, STDERR_FILENO);
	/* Without a free descriptor, standard error itself is used. */
	if (!is_own)
		stream = (struct stream){ .descriptor = STDERR_FILENO, .kind = STREAM_SHARED };
	bool has_room = size && write_unread(&stream);
	while (size && has_room) {
		size_t part = part_size(text, size);
		has_room = write_part(&stream, text, part);
		text += has_room ? part : 0;
		size -= has_room ? part : 0;
	}
	for (size_t i = 0; i < size; i++)
		unread += text[i] == '\n';
	if (is_own)
		close(stream.descriptor);
}

/* Collects the text of one write. */
struct page {
	FILE *file;
	char *text;
	size_t size;
};

static bool page_open(struct page *page)
{
	*page = (struct page){ 0 };
	page->file = open_memstream(&page->text, &page->size);
	return page->file;
}

static void page_show(struct page *page)
{
	fclose(page->file);
	emit(page->text, page->size);
	free(page->text);
}

/* Carriage return, then "erase to the end of the line" (ECMA-48 EL). */
#define ERASE_LINE "\r\033[K"

/*
 * Erases the status and leaves the cursor at its start: "cursor up", "erase to the end of the screen" (ECMA-48 CUU,
 * ED).
 */
static void erase_status(FILE *file)
{
	if (status_lines > 1)
		fprintf(file, "\r\033[%uA\033[J", status_lines - 1);
	else if (status_lines)
		fputs(ERASE_LINE, file);
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
	struct page page;
	pthread_mutex_lock(&lock);
	if (page_open(&page)) {
		if (hold)
			erase_status(page.file);
		fwrite(held, 1, held_size, page.file);
		if (held_too_many)
			fprintf(page.file, "iaprof: warning: more messages dropped: %lu\n", held_too_many);
		page_show(&page);
	}
	held_size = 0;
	held_too_many = 0;
	holding = hold;
	pthread_mutex_unlock(&lock);
}

/* is_once: it is not shown if it repeats an earlier one. */
static void print_line(const char *prefix, bool is_once, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));
static void print_line(const char *prefix, bool is_once, const char *format, va_list arguments)
{
	char text[MESSAGE_SIZE];
	struct page page;
	vsnprintf(text, sizeof text, format, arguments);
	text_make_printable(text);
	pthread_mutex_lock(&lock);
	if (is_once && repeated_messages_add(&repeated, text)) {
		pthread_mutex_unlock(&lock);
		return;
	}
	if (holding) {
		hold_line(prefix, text);
	} else if (page_open(&page)) {
		erase_status(page.file);
		fprintf(page.file, "%s%s\n", prefix, text);
		page_show(&page);
	}
	pthread_mutex_unlock(&lock);
}

void log_message_va(int level, const char *format, va_list arguments)
{
	static const char *const prefixes[] = { "iaprof: ", "iaprof: warning: ", "iaprof: ", "iaprof: debug: " };
	if (level <= log_level())
		print_line(prefixes[level < 0   ? 0
				    : level > 3 ? 3
						: level],
			   level == IAPROF_LOG_WARNING && log_level() == IAPROF_LOG_WARNING, format, arguments);
}

void log_notice(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (log_level() >= IAPROF_LOG_WARNING)
		print_line("iaprof: ", false, format, arguments);
	va_end(arguments);
}

void log_message(int level, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	log_message_va(level, format, arguments);
	va_end(arguments);
}

/* Shows a warning even if it repeats another. */
__attribute__((format(printf, 1, 2))) static void print_warning(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (log_level() >= IAPROF_LOG_WARNING)
		print_line("iaprof: warning: ", false, format, arguments);
	va_end(arguments);
}

void log_repeated(void)
{
	pthread_mutex_lock(&lock);
	struct repeated_messages past = repeated;
	repeated = (struct repeated_messages){ 0 };
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < past.count; i++)
		if (past.items[i].more)
			print_warning("%" PRIu64 " more warning%s like this one (-v lists them): %s",
				      past.items[i].more, plural(past.items[i].more), past.items[i].text);
	repeated_messages_clear(&past);
}

/*
 * A wrapped line, or more lines than fit on the terminal, could not be erased again: long lines are truncated, and only
 * the last lines are shown. The window size may have changed since the last time.
 */
static void print_status(const char *text, FILE *file)
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
			fputc('\n', file);
		text_print_printable(line, columns, file);
		text += length + (text[length] != '\0');
	}
}

void log_status_line(const char *text)
{
	pthread_mutex_lock(&lock);
	bool is_first = !status_lines;
	struct page page;
	if (page_open(&page)) {
		erase_status(page.file);
		if (text && !holding) {
			if (is_first) /* another program may have written there */
				fputs(ERASE_LINE, page.file);
			print_status(text, page.file);
		}
		page_show(&page);
	}
	pthread_mutex_unlock(&lock);
}

void log_text(const char *text, size_t size)
{
	pthread_mutex_lock(&lock);
	emit(text, size);
	pthread_mutex_unlock(&lock);
}
