/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the unwind table of an ELF file, and sends it: see serve.h. */
#include <errno.h>

#include "symbolizer/python/python_runtime.h"
#include "symbolizer/thread_context.h"
#include "symbolizer/worker/serve.h"
#include "symbolizer/worker/worker_message.h"
#include "symbolizer/unwind/unwind_table.h"

static int send_table(int socket, int code, const elf_segment_array *segments, const struct unwind_table *table)
{
	struct worker_unwind answer = { .code = code, .segment_count = (uint32_t)segments->count };
	struct iovec parts[5] = {
		{ .iov_base = &answer, .iov_len = sizeof answer },
		{ .iov_base = segments->items, .iov_len = segments->count * sizeof *segments->items },
	};
	if (code)
		return channel_send(socket, WORKER_UNWIND, parts, 2, -1, NULL);
	answer.first_page = table->first_page;
	answer.page_count = (uint32_t)table->index.count - 1;
	answer.row_count = (uint32_t)table->rows.count;
	answer.rule_count = (uint32_t)table->rules.count;
	answer.skipped = table->skipped;
	answer.python = table->python;
	answer.thread_context = table->thread_context;
	parts[2] = (struct iovec){ table->index.items, table->index.count * sizeof *table->index.items };
	parts[3] = (struct iovec){ table->rows.items, table->rows.count * sizeof *table->rows.items };
	parts[4] = (struct iovec){ table->rules.items, table->rules.count * sizeof *table->rules.items };
	return channel_send(socket, WORKER_UNWIND, parts, 5, -1, NULL);
}

int unwind_service_load(int socket, int descriptor)
{
	struct elf_file elf;
	struct unwind_table table = { 0 };
	elf_segment_array segments = { 0 };
	if (descriptor < 0)
		return -EPROTO;
	int code = elf_file_open(&elf, descriptor);
	bool is_open = !code;
	if (!code && !elf_file_segments(&elf, &segments))
		code = -ENOMEM;
	if (!code)
		code = unwind_table_make(&table, &elf);
	if (!code) {
		python_runtime_find(&table.python, &elf);
		thread_context_find(&table.thread_context, &elf);
	}
	int result = send_table(socket, code, &segments, &table);
	unwind_table_free(&table);
	array_free(&segments);
	if (is_open)
		elf_file_close(&elf);
	return result;
}
