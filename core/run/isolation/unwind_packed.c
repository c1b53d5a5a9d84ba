/* SPDX-License-Identifier: Apache-2.0 */
/* A struct and the arrays that it points to, one after the other, each padded to 8 bytes: see unwind_packed.h. */
#include "run/isolation/unwind_packed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Precedes the struct. */
struct packed_header {
	uint32_t is_table, has_python, has_thread_context, pad;
};

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t table_size(const struct iaprof_unwind_table *table, bool has_python, bool has_thread_context)
{
	return padded(sizeof *table) + (has_python ? padded(sizeof *table->python) : 0) +
	       (has_thread_context ? padded(sizeof *table->thread_context) : 0) +
	       padded(((size_t)table->page_count + 1) * sizeof *table->index) +
	       padded((size_t)table->row_count * sizeof *table->rows) +
	       padded((size_t)table->rule_count * sizeof *table->rules);
}

size_t unwind_packed_size(const struct iaprof_unwind_table *table, const struct iaprof_unwind_process *process)
{
	return sizeof(struct packed_header) +
	       (table ? table_size(table, table->python, table->thread_context)
		      : padded(sizeof *process) + (size_t)process->mapping_count * sizeof *process->mappings);
}

static char *pack_bytes(char *to, const void *from, size_t size)
{
	if (size)
		memcpy(to, from, size);
	return to + padded(size);
}

void unwind_pack(const struct iaprof_unwind_table *table, const struct iaprof_unwind_process *process, char *bytes)
{
	struct packed_header header = { .is_table = table != NULL,
					.has_python = table && table->python,
					.has_thread_context = table && table->thread_context };
	bytes = pack_bytes(bytes, &header, sizeof header);
	if (!table) {
		bytes = pack_bytes(bytes, process, sizeof *process);
		pack_bytes(bytes, process->mappings, process->mapping_count * sizeof *process->mappings);
		return;
	}
	bytes = pack_bytes(bytes, table, sizeof *table);
	if (table->python)
		bytes = pack_bytes(bytes, table->python, sizeof *table->python);
	if (table->thread_context)
		bytes = pack_bytes(bytes, table->thread_context, sizeof *table->thread_context);
	bytes = pack_bytes(bytes, table->index, ((size_t)table->page_count + 1) * sizeof *table->index);
	bytes = pack_bytes(bytes, table->rows, (size_t)table->row_count * sizeof *table->rows);
	pack_bytes(bytes, table->rules, (size_t)table->rule_count * sizeof *table->rules);
}

static const void *unpack_bytes(const char **from, size_t size)
{
	const char *begin = *from;
	*from += padded(size);
	return begin;
}

int unwind_unpack(const char *bytes, size_t size, struct unwind_unpacked *unpacked)
{
	struct packed_header header;
	*unpacked = (struct unwind_unpacked){ 0 };
	if (size < sizeof header + sizeof unpacked->process)
		return -EBADMSG;
	memcpy(&header, unpack_bytes(&bytes, sizeof header), sizeof header);
	size -= sizeof header;
	if (!header.is_table) {
		struct iaprof_unwind_process *process = &unpacked->process;
		memcpy(process, unpack_bytes(&bytes, sizeof *process), sizeof *process);
		process->mappings = (const void *)bytes;
		size_t mappings = (size_t)process->mapping_count * sizeof *process->mappings;
		return size == padded(sizeof *process) + mappings ? 0 : -EBADMSG;
	}
	struct iaprof_unwind_table *table = &unpacked->table;
	if (size < sizeof *table)
		return -EBADMSG;
	memcpy(table, unpack_bytes(&bytes, sizeof *table), sizeof *table);
	if (size != table_size(table, header.has_python, header.has_thread_context))
		return -EBADMSG;
	table->python = header.has_python ? unpack_bytes(&bytes, sizeof *table->python) : NULL;
	table->thread_context = header.has_thread_context ? unpack_bytes(&bytes, sizeof *table->thread_context) : NULL;
	table->index = unpack_bytes(&bytes, ((size_t)table->page_count + 1) * sizeof *table->index);
	table->rows = unpack_bytes(&bytes, (size_t)table->row_count * sizeof *table->rows);
	table->rules = unpack_bytes(&bytes, (size_t)table->rule_count * sizeof *table->rules);
	return 0;
}
