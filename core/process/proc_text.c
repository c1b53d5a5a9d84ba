/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of /proc/PID/maps and /proc/PID/stat, parsed: see proc_text.h. */
#include "process/proc_text.h"

#include <errno.h>
#include <string.h>

/* No machine has more: NR_CPUS_RANGE_END of the Linux kernel's arch/x86/Kconfig is 8,192. */
#define CPU_MAX 65536u

/* What is left of a text; fail is set by the first thing that is not there. */
struct cursor {
	const char *next, *end;
	bool fail;
};

static uint64_t take_number(struct cursor *cursor, unsigned base)
{
	uint64_t value = 0;
	const char *start = cursor->next;
	for (; cursor->next < cursor->end; cursor->next++) {
		unsigned char c = (unsigned char)*cursor->next;
		unsigned digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			cursor->fail = true;
		value = value * base + digit;
	}
	if (cursor->next == start)
		cursor->fail = true;
	return value;
}

static char take(struct cursor *cursor)
{
	if (cursor->next < cursor->end)
		return *cursor->next++;
	cursor->fail = true;
	return 0;
}

static void expect(struct cursor *cursor, char wanted)
{
	if (take(cursor) != wanted)
		cursor->fail = true;
}

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->next < cursor->end && *cursor->next == ' ')
		cursor->next++;
}

static void skip_fields(struct cursor *cursor, int count)
{
	for (; count > 0; count--) {
		while (cursor->next < cursor->end && *cursor->next != ' ')
			cursor->next++;
		expect(cursor, ' ');
	}
}

/* The kernel writes a newline in a path as \012 (seq_path() in fs/proc/task_mmu.c), and nothing else that way. */
static size_t decode_newlines(char *path, size_t length)
{
	static const char escape[] = "\\012";
	char *from = memmem(path, length, escape, 4), *end = path + length;
	if (!from)
		return length;
	char *to = from;
	while (from < end) {
		if (end - from >= 4 && !memcmp(from, escape, 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	return (size_t)(to - path);
}

int proc_maps_next(char **text, size_t *size, struct proc_mapping *mapping)
{
	char *line = *text, *newline = *size ? memchr(line, '\n', *size) : NULL;
	if (!newline)
		return 0;
	*size -= (size_t)(newline + 1 - line);
	*text = newline + 1;

	struct cursor cursor = { .next = line, .end = newline };
	*mapping = (struct proc_mapping){ .start = take_number(&cursor, 16) };
	expect(&cursor, '-');
	mapping->end = take_number(&cursor, 16);
	expect(&cursor, ' ');
	take(&cursor);
	take(&cursor);
	mapping->executable = take(&cursor) == 'x';
	take(&cursor);
	expect(&cursor, ' ');
	mapping->file_offset = take_number(&cursor, 16);
	expect(&cursor, ' ');
	mapping->device_major = (uint32_t)take_number(&cursor, 16);
	expect(&cursor, ':');
	mapping->device_minor = (uint32_t)take_number(&cursor, 16);
	expect(&cursor, ' ');
	mapping->inode = take_number(&cursor, 10);
	skip_blanks(&cursor);
	if (cursor.fail || mapping->end <= mapping->start)
		return -EINVAL;
	mapping->path = cursor.next;
	mapping->path_length = decode_newlines(line + (cursor.next - line), (size_t)(newline - cursor.next));
	return 1;
}

int proc_status_parse(const char *text, size_t size, struct proc_status *status)
{
	/* pid (name) state ppid ...: the name may hold anything, so it ends with the last parenthesis. */
	const char *open = size ? memchr(text, '(', size) : NULL;
	const char *close = size ? memrchr(text, ')', size) : NULL;
	*status = (struct proc_status){ 0 };
	if (!open || !close || close < open)
		return -EINVAL;
	status->name = open + 1;
	status->name_length = (size_t)(close - open - 1);
	struct cursor cursor = { .next = close + 1, .end = text + size };
	expect(&cursor, ' ');
	status->state = take(&cursor);
	expect(&cursor, ' ');
	status->parent_pid = (uint32_t)take_number(&cursor, 10);
	expect(&cursor, ' ');
	skip_fields(&cursor, 4); /* pgrp session tty_nr tpgid */
	status->flags = (uint32_t)take_number(&cursor, 10);
	expect(&cursor, ' ');
	skip_fields(&cursor, 10); /* four fault counts, four times, priority, nice */
	status->threads = (uint32_t)take_number(&cursor, 10);
	return cursor.fail ? -EINVAL : 0;
}

int proc_cpu_list(const char *text, size_t size, int (*use)(void *context, uint32_t cpu), void *context)
{
	struct cursor cursor = { .next = text, .end = text + size };
	for (;;) {
		uint64_t first = take_number(&cursor, 10), last = first;
		if (cursor.next < cursor.end && *cursor.next == '-') {
			cursor.next++;
			last = take_number(&cursor, 10);
		}
		if (cursor.fail || last < first || last >= CPU_MAX)
			return -EBADMSG;
		for (uint64_t cpu = first; cpu <= last; cpu++) {
			int result = use(context, (uint32_t)cpu);
			if (result)
				return result;
		}
		if (cursor.next == cursor.end || *cursor.next == '\n')
			return 0;
		expect(&cursor, ',');
	}
}
