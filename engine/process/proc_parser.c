/* SPDX-License-Identifier: Apache-2.0 */
/* See proc_parser.h. */
#include "process/proc_parser.h"

#include <errno.h>
#include <string.h>

#include "text/text_span.h"

/* More than any machine has: NR_CPUS_RANGE_END of Linux, arch/x86/Kconfig, is 8,192. */
#define CPU_MAX 65536u

/* Linux writes a newline in a path as \012 (seq_path() in fs/proc/task_mmu.c), and escapes nothing else. */
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

int proc_maps_next(char **text, size_t *size, struct process_mapping *mapping)
{
	char *line = *text, *newline = *size ? memchr(line, '\n', *size) : NULL;
	if (!newline)
		return 0;
	*size -= (size_t)(newline + 1 - line);
	*text = newline + 1;
	if (!process_mapping_parse(line, (size_t)(newline - line), mapping))
		return -EINVAL;
	mapping->path_length = decode_newlines(line + (mapping->path - line), mapping->path_length);
	return 1;
}

int proc_status_parse(const char *text, size_t size, struct proc_status *status)
{
	/* Numbers of the fields in proc_pid_stat(5). */
	enum { PARENT = 4, FLAGS = 9, THREADS = 20, START = 22, FIELD_COUNT };
	uint64_t fields[FIELD_COUNT];
	bool is_number[FIELD_COUNT];
	/*
	 * Parses "PID (NAME) STATE PPID ...". The name may contain any character, so it ends with the last parenthesis.
	 */
	const char *open = size ? memchr(text, '(', size) : NULL;
	const char *close = size ? memrchr(text, ')', size) : NULL;
	*status = (struct proc_status){ 0 };
	if (!open || !close || close < open)
		return -EINVAL;
	struct text_span rest = { close + 1, (size_t)(text + size - (close + 1)) };
	struct text_span state = span_take_word(&rest);
	for (size_t i = PARENT; i < FIELD_COUNT; i++)
		is_number[i] = span_decimal(span_take_word(&rest), &fields[i]);
	if (state.length != 1 || !is_number[PARENT] || !is_number[FLAGS] || !is_number[THREADS] || !is_number[START])
		return -EINVAL;
	*status = (struct proc_status){ .name = open + 1,
					.name_length = (size_t)(close - open - 1),
					.state = *state.text,
					.parent_pid = (uint32_t)fields[PARENT],
					.flags = (uint32_t)fields[FLAGS],
					.threads = (uint32_t)fields[THREADS],
					.start_ticks = fields[START] };
	return 0;
}

int proc_cpu_list(const char *text, size_t size, int (*use)(void *context, uint32_t cpu), void *context)
{
	const char *newline = size ? memchr(text, '\n', size) : NULL;
	struct text_span rest = { text, newline ? (size_t)(newline - text) : size }, range, first;
	while (span_take_field(&rest, ',', &range)) {
		uint64_t cpu, last;
		span_take_field(&range, '-', &first);
		if (!span_decimal(first, &cpu) || !span_decimal(range.text ? range : first, &last) || last < cpu ||
		    last >= CPU_MAX)
			return -EBADMSG;
		for (; cpu <= last; cpu++) {
			int result = use(context, (uint32_t)cpu);
			if (result)
				return result;
		}
	}
	return 0;
}
