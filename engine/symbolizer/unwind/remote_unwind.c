/* SPDX-License-Identifier: Apache-2.0 */
/* See remote_unwind.h. */
#include "symbolizer/unwind/remote_unwind.h"

#include <errno.h>

#include "child/channel.h"
#include "symbolizer/remote_read.h"

/* Validates the numbers that sizes are calculated from. */
static bool is_sane(const struct worker_unwind *head, uint64_t rest)
{
	uint64_t size = (uint64_t)head->segment_count * sizeof(struct elf_segment);
	if (head->segment_count > UNWIND_SEGMENTS_MAX || head->page_count > UNWIND_PAGES_MAX ||
	    head->row_count > UNWIND_ROWS_MAX || head->rule_count > UNWIND_RULES_MAX)
		return false;
	if (!head->code)
		size += ((uint64_t)head->page_count + 1) * sizeof(uint32_t) +
			(uint64_t)head->row_count * sizeof(struct iaprof_unwind_row) +
			(uint64_t)head->rule_count * sizeof(struct iaprof_unwind_rule);
	return size == rest;
}

bool unwind_table_is_valid(const struct unwind_table *table)
{
	size_t pages = table->index.count ? table->index.count - 1 : 0;
	if (!pages || !table->rules.count || table->index.items[0] || table->index.items[pages] != table->rows.count)
		return false;
	for (size_t page = 0; page < pages; page++) {
		uint32_t first = table->index.items[page], end = table->index.items[page + 1];
		if (end <= first || end > table->rows.count || table->rows.items[first].offset)
			return false;
		for (uint32_t row = first + 1; row < end; row++)
			if (table->rows.items[row].offset <= table->rows.items[row - 1].offset ||
			    table->rows.items[row].offset >= IAPROF_UNWIND_PAGE_SIZE)
				return false;
	}
	for (size_t row = 0; row < table->rows.count; row++)
		if (table->rows.items[row].rule >= table->rules.count)
			return false;
	for (size_t rule = 0; rule < table->rules.count; rule++)
		if (table->rules.items[rule].cfa > IAPROF_UNWIND_CFA_SWITCHED ||
		    table->rules.items[rule].frame > IAPROF_UNWIND_AT_STACK ||
		    table->rules.items[rule].return_address > IAPROF_UNWIND_AT_STACK)
			return false;
	return table->rules.items[0].cfa == IAPROF_UNWIND_CFA_NONE;
}

static int receive(struct remote_unwind *unwind, const struct remote_reader *reader, const struct worker_unwind *head)
{
	struct unwind_table *table = &unwind->table;
	const struct remote_part parts[] = { REMOTE_PART(unwind->segments.items, head->segment_count),
					     REMOTE_PART(table->index.items, head->page_count + 1),
					     REMOTE_PART(table->rows.items, head->row_count),
					     REMOTE_PART(table->rules.items, head->rule_count) };
	int code = remote_read_parts(reader, parts, head->code ? 1 : sizeof parts / sizeof *parts);
	if (code)
		return code;
	unwind->segments.count = unwind->segments.capacity = head->segment_count;
	if (head->code)
		return 0;
	table->first_page = head->first_page;
	table->index.count = table->index.capacity = head->page_count + 1;
	table->rows.count = table->rows.capacity = head->row_count;
	table->rules.count = table->rules.capacity = head->rule_count;
	table->skipped = head->skipped;
	table->python = head->python;
	table->thread_context = head->thread_context;
	return unwind_table_is_valid(table) ? 0 : -EBADMSG;
}

static int load(struct remote_unwind_read *read, struct remote_unwind *unwind)
{
	struct worker_unwind head;
	struct channel_answer answer = {
		.type = WORKER_UNWIND, .head = &head, .head_size = sizeof head, .rest_max = UINT32_MAX
	};
	struct remote_reader reader = { .socket = read->child.socket, .deadline = read->deadline };
	reader.deadline.helper = &read->child.process;
	int code = channel_receive_answer(reader.socket, &answer, &reader.deadline);
	if (code)
		return code;
	if (head.code && head.code != -ENODATA && head.code != -ENOTSUP)
		return channel_error(head.code);
	if (!is_sane(&head, answer.rest))
		return -EBADMSG;
	if (!budget_take(read->budget, &read->file, answer.rest))
		return -EDQUOT;
	code = receive(unwind, &reader, &head);
	if (code)
		budget_give_back(read->budget, &read->file, answer.rest);
	return code;
}

static int end(struct remote_unwind_read *read, int code)
{
	if (!code && budget_trusts(read->budget, &read->file))
		worker_child_hand_on(read->pool, &read->child, BUDGET_DATA_TRUSTED);
	worker_child_end(read->pool, &read->child);
	if (!code)
		budget_charge_excess(read->budget, &read->file, &read->deadline);
	/* Other mapped files, such as archives, need no table. */
	else if (code != -ENOEXEC)
		budget_refuse(read->budget, &read->file, read->path, worker_reason(code),
			      deadline_spent(&read->deadline));
	return code;
}

int remote_unwind_begin(struct remote_unwind_read *read, int descriptor)
{
	read->child = WORKER_CHILD_NONE;
	read->deadline = deadline_make(NULL, 0);
	int code = budget_is_spent(read->budget, &read->file)
			   ? -ETIME
			   : worker_child_start(read->pool, &read->child,
						budget_data_limit(read->budget, &read->file, BUDGET_FULL));
	if (!code) {
		read->deadline = budget_deadline(read->budget, &read->file, BUDGET_FULL);
		code = channel_send(read->child.socket, WORKER_LOAD_UNWIND, NULL, 0, descriptor, &read->deadline);
	}
	return code ? end(read, code) : 0;
}

int remote_unwind_finish(struct remote_unwind_read *read, struct remote_unwind *unwind)
{
	*unwind = (struct remote_unwind){ 0 };
	int code = end(read, load(read, unwind));
	if (code)
		remote_unwind_free(unwind);
	return code;
}

int remote_unwind_load(struct remote_unwind *unwind, struct worker_pool *pool, struct budget *budget, int descriptor,
		       const struct file_identity *file, const char *path)
{
	struct remote_unwind_read read = { .pool = pool, .budget = budget, .file = *file, .path = path };
	int code = remote_unwind_begin(&read, descriptor);
	return code ? code : remote_unwind_finish(&read, unwind);
}

void remote_unwind_free(struct remote_unwind *unwind)
{
	array_free(&unwind->segments);
	unwind_table_free(&unwind->table);
}
