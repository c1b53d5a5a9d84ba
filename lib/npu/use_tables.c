/* SPDX-License-Identifier: Apache-2.0 */
/* See use_tables.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"
#include "text/quantity.h"
#include "text/text.h"
#include "npu/use_tables.h"

#define PAGE 4096.0
#define CELL " | "
/* Indentation of a context in the rows below its process. */
#define BELOW "  "
/* The order of phases: what is not known is last. */
#define PHASE_SHOWN(position) (((position) + 1) % IVPU_PHASE_COUNT)
#define USER_NAME_SIZE (NPU_USE_COMM_SIZE + 16)

/* The table in progress. */
struct table {
	const struct npu_use *use;
	struct record_batch *batch;
	struct text text;
	uint64_t time;
	bool has_memory, has_allocated; /* columns of users */
};

/* Begins a row. */
static struct text *row_begin(struct table *table)
{
	text_append_string(&table->text, "| ");
	return &table->text;
}

/* Appends the row and empties the text. name: of the note. */
static int row_emit(struct table *table, const char *name, double value, uint32_t pid)
{
	const struct record_finding finding = { .severity = IAPROF_FINDING_NOTE,
						.name = name,
						.text = text_string(&table->text),
						.value = value,
						.pid = pid };
	int result = table->text.failed ? -ENOMEM : record_batch_add_finding(table->batch, &finding, table->time);

	table->text.size = 0;
	return result;
}

/* A cell whose number is not known is "-". */
static void cell_append(struct text *text, bool is_known, struct quantity_text number)
{
	text_append_format(text, "%s" CELL, is_known ? number.text : "-");
}

static void detail_append(struct text *text, uint64_t count, const char *singular, const char *plural)
{
	if (count)
		text_append_format(text, ", %" PRIu64 " %s", count, count == 1 ? singular : plural);
}

/* The number of what a phase is about. */
static void details_append(struct text *text, const struct npu_use *use, enum ivpu_phase phase,
			   const struct ivpu_statistics *statistics)
{
	uint64_t pages = use->phases[phase].pages;

	if (phase == IVPU_PHASE_OPEN)
		detail_append(text, statistics->contexts, "context", "contexts");
	if (phase == IVPU_PHASE_BOOT) {
		detail_append(text, statistics->boots.count, "boot", "boots");
		detail_append(text, statistics->boots.polls, "poll for the firmware's first message",
			      "polls for the firmware's first message");
	}
	if (phase == IVPU_PHASE_ALLOCATE)
		detail_append(text, statistics->buffers.created, "buffer", "buffers");
	detail_append(text, pages, "page", "pages");
	if (phase == IVPU_PHASE_MAP && use->submit_pages)
		text_append_format(text, ", %" PRIu64 " in submissions: a buffer is mapped when a job first uses it",
				   use->submit_pages);
	if (phase == IVPU_PHASE_RUN)
		detail_append(text, statistics->jobs.count, "job", "jobs");
	if (phase == IVPU_PHASE_RECOVERY)
		detail_append(text, statistics->recoveries, "recovery", "recoveries");
}

static int phases_emit(struct table *table, const struct ivpu_statistics *statistics)
{
	const struct npu_use *use = table->use;
	struct text *text = &table->text;
	uint64_t calls = 0, elapsed = 0;
	int result = 0;
	bool has_titles = false;

	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++) {
		calls += use->phases[i].calls;
		elapsed += use->phases[i].elapsed;
	}
	for (uint32_t i = 0; i < IVPU_PHASE_COUNT && !result; i++) {
		uint32_t phase = PHASE_SHOWN(i);
		const struct phase_sums *sums = &use->phases[phase];
		if (!sums->calls && !sums->elapsed)
			continue;
		if (!has_titles) {
			text_append_string(text, "|| time | share | calls | share | driver time | bytes | phase");
			result = row_emit(table, "npu-phases", (double)calls, 0);
			has_titles = true;
		}
		double bytes = phase == IVPU_PHASE_ALLOCATE && statistics->buffers.bytes
				       ? (double)statistics->buffers.bytes
				       : (double)sums->pages * PAGE;
		row_begin(table);
		cell_append(text, sums->elapsed, quantity_time((double)sums->elapsed));
		cell_append(text, true,
			    quantity_share((double)sums->elapsed, sums->elapsed ? (double)elapsed : 0, "%"));
		cell_append(text, sums->calls, quantity_sum(sums->calls));
		cell_append(text, true, quantity_share((double)sums->calls, sums->calls ? (double)calls : 0, "%"));
		cell_append(text, sums->driver_time, quantity_time((double)sums->driver_time));
		cell_append(text, bytes > 0, quantity_size(bytes));
		text_append_string(text, ivpu_phase_name(phase));
		details_append(text, use, phase, statistics);
		if (!result)
			result = row_emit(table, ivpu_phase_note(phase), (double)sums->calls, 0);
	}
	return result;
}

/* A process with its contexts. */
struct user {
	const struct npu_process *process; /* NULL if only its jobs are known */
	const struct npu_context *contexts;
	size_t count;
	uint32_t pid;
	struct npu_context sums;
};

/* The cells of a row of users before the last one: numbers that are 0 are not known. */
struct user_cells {
	const struct npu_context *jobs;
	uint64_t boot_time, memory, allocated, pages, calls;
};

/* Begins a row of users. Columns that no user has are left out. */
static void cells_append(struct table *table, const struct user_cells *cells)
{
	const struct npu_context *jobs = cells->jobs;
	struct text *text = row_begin(table);
	bool is_timed = jobs->timed;

	cell_append(text, jobs->jobs, quantity_sum(jobs->jobs));
	cell_append(text, is_timed, quantity_time((double)jobs->run_time));
	cell_append(text, true,
		    quantity_share((double)jobs->run_time, is_timed ? (double)table->use->run_time : 0, "%"));
	cell_append(text, is_timed, quantity_time((double)jobs->queue_time / (double)jobs->timed));
	cell_append(text, cells->boot_time, quantity_time((double)cells->boot_time));
	if (table->has_memory)
		cell_append(text, cells->memory, quantity_size((double)cells->memory));
	if (table->has_allocated)
		cell_append(text, cells->allocated, quantity_size((double)cells->allocated));
	cell_append(text, cells->pages, quantity_size((double)cells->pages * PAGE));
	cell_append(text, cells->calls, quantity_sum(cells->calls));
}

/* Writes the name of a user without bars, which separate cells. */
static void user_name(const struct table *table, uint32_t pid, char name[static USER_NAME_SIZE])
{
	snprintf(name, USER_NAME_SIZE, "[no program]");
	if (pid)
		npu_use_user_text(table->use, pid, name, USER_NAME_SIZE);
	for (char *bar = name; (bar = strchr(bar, '|'));)
		*bar = '/';
}

/* Of several contexts of a process, in a row below that of the process. */
static void context_name(const struct npu_context *context, char name[static USER_NAME_SIZE])
{
	snprintf(name, USER_NAME_SIZE, "context %" PRIu32, context->key.context);
}

static int more_emit(struct table *table, const char *note, const char *indent, size_t count, const char *what,
		     uint32_t pid)
{
	static const struct npu_context unknown;

	cells_append(table, &(struct user_cells){ .jobs = &unknown });
	text_append_format(&table->text, "%s... %zu more %s", indent, count, what);
	return row_emit(table, note, (double)count, pid);
}

static int context_emit(struct table *table, const struct npu_context *context)
{
	const struct user_cells cells = { .jobs = context,
					  .boot_time = context->boot_time,
					  .allocated = context->allocated,
					  .pages = context->pages,
					  .calls = context->calls };
	char name[USER_NAME_SIZE], note[32];

	snprintf(note, sizeof note, "npu-context-%" PRIu32, context->key.context);
	context_name(context, name);
	cells_append(table, &cells);
	text_append_format(&table->text, BELOW "%s", name);
	detail_append(&table->text, context->aborted, "job aborted", "jobs aborted");
	return row_emit(table, note, (double)context->run_time, context->key.pid);
}

static int user_emit(struct table *table, const struct user *user)
{
	const struct npu_process *process = user->process;
	struct npu_context sums = user->sums;
	struct user_cells cells = { .jobs = &sums };
	struct text *text = &table->text;
	char name[USER_NAME_SIZE];
	uint32_t only = user->count == 1 ? user->contexts->key.context : 0;

	if (process) {
		sums.jobs = sums.jobs ? sums.jobs : process->jobs;
		cells.boot_time = process->boot_time;
		cells.memory = process->memory;
		cells.allocated = process->allocated;
		cells.pages = process->pages;
		cells.calls = process->calls;
	}
	user_name(table, user->pid, name);
	cells_append(table, &cells);
	text_append_name(text, name);
	if (only)
		text_append_format(text, ", context %" PRIu32, only);
	detail_append(text, sums.aborted, "job aborted", "jobs aborted");
	int result = row_emit(table, "npu-process", (double)sums.run_time, user->pid);
	for (size_t i = 0; i < user->count && user->count > 1 && i < USE_CONTEXTS_SHOWN && !result; i++)
		result = context_emit(table, &user->contexts[i]);
	if (user->count > USE_CONTEXTS_SHOWN && !result)
		result = more_emit(table, "npu-contexts-more", BELOW, user->count - USE_CONTEXTS_SHOWN, "contexts",
				   user->pid);
	return result;
}

/* By process; its context with most run time is first. */
static int compare_contexts(const void *left, const void *right)
{
	const struct npu_context *one = left, *other = right;

	if (one->key.pid != other->key.pid)
		return one->key.pid < other->key.pid ? -1 : 1;
	if (one->run_time != other->run_time)
		return one->run_time > other->run_time ? -1 : 1;
	return one->key.context < other->key.context ? -1 : one->key.context > other->key.context;
}

/* Most run time first, then most calls. */
static int compare_users(const void *left, const void *right)
{
	const struct user *one = left, *other = right;
	uint64_t one_calls = one->process ? one->process->calls : 0,
		 other_calls = other->process ? other->process->calls : 0;

	if (one->sums.run_time != other->sums.run_time)
		return one->sums.run_time > other->sums.run_time ? -1 : 1;
	if (one_calls != other_calls)
		return one_calls > other_calls ? -1 : 1;
	return one->pid < other->pid ? -1 : one->pid > other->pid;
}

/* Returns the number of users: processes with jobs, and those that made requests. */
static size_t users_collect(const struct npu_use *use, struct npu_context *contexts, struct user *users)
{
	size_t count = 0, end;

	if (use->contexts.count) {
		memcpy(contexts, use->contexts.items, use->contexts.count * sizeof *contexts);
		qsort(contexts, use->contexts.count, sizeof *contexts, compare_contexts);
	}
	for (size_t i = 0; i < use->contexts.count; i = end) {
		struct user user = { .contexts = &contexts[i], .pid = contexts[i].key.pid };
		user.process = keyed_array_get(&use->processes, &user.pid);
		for (end = i; end < use->contexts.count && contexts[end].key.pid == user.pid; end++) {
			user.sums.jobs += contexts[end].jobs;
			user.sums.aborted += contexts[end].aborted;
			user.sums.timed += contexts[end].timed;
			user.sums.run_time += contexts[end].run_time;
			user.sums.queue_time += contexts[end].queue_time;
		}
		user.count = end - i;
		users[count++] = user;
	}
	for (size_t i = 0, with_jobs = count; i < use->processes.count; i++) {
		const struct npu_process *process = &use->processes.items[i];
		bool is_there = !process->is_user;
		for (size_t k = 0; k < with_jobs && !is_there; k++)
			is_there = users[k].pid == process->key;
		if (!is_there)
			users[count++] = (struct user){ .process = process, .pid = process->key };
	}
	qsort(users, count, sizeof *users, compare_users);
	return count;
}

static int total_emit(struct table *table, const struct user *users, size_t count)
{
	struct npu_context sums = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct npu_process *process = users[i].process;
		sums.jobs += users[i].sums.jobs || !process ? users[i].sums.jobs : process->jobs;
		sums.timed += users[i].sums.timed;
		sums.run_time += users[i].sums.run_time;
		sums.queue_time += users[i].sums.queue_time;
	}
	cells_append(table, &(struct user_cells){ .jobs = &sums });
	text_append_string(&table->text, "all");
	return row_emit(table, "npu-users-all", (double)sums.run_time, 0);
}

/* Returns what was spent in a phase: driver time, or calls if no time is known. sums: of all phases, or NULL. */
static double phase_part(const struct phase_sums *sums, uint32_t phase, bool has_times)
{
	if (!sums)
		return 0;
	return has_times ? (double)sums[phase].driver_time : (double)sums[phase].calls;
}

/* The phases that any user has, and their unit. */
struct phase_columns {
	double totals[IVPU_PHASE_COUNT];
	bool has_times;
};

static struct phase_columns phase_columns_find(const struct user *users, size_t count)
{
	struct phase_columns columns = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct phase_sums *sums = users[i].process ? users[i].process->phases : NULL;
		for (uint32_t phase = 0; phase < IVPU_PHASE_COUNT; phase++)
			columns.has_times |= phase_part(sums, phase, true) > 0;
	}
	for (size_t i = 0; i < count; i++) {
		const struct phase_sums *sums = users[i].process ? users[i].process->phases : NULL;
		for (uint32_t phase = 0; phase < IVPU_PHASE_COUNT; phase++)
			columns.totals[phase] += phase_part(sums, phase, columns.has_times);
	}
	return columns;
}

/* A row of the phases of a user, or of one of its contexts, whose names are indented. */
static int phases_row_emit(struct table *table, const struct phase_columns *columns, const struct phase_sums *sums,
			   const char *note, const char *indent, const char *name, uint64_t calls, uint32_t pid)
{
	struct text *text = row_begin(table);

	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++) {
		double part = phase_part(sums, PHASE_SHOWN(i), columns->has_times);
		if (columns->totals[PHASE_SHOWN(i)] > 0 && columns->has_times)
			cell_append(text, part > 0, quantity_time(part));
		else if (columns->totals[PHASE_SHOWN(i)] > 0)
			cell_append(text, (uint64_t)part, quantity_sum((uint64_t)part));
	}
	text_append_string(text, indent);
	text_append_name(text, name);
	return row_emit(table, note, (double)calls, pid);
}

/* What each of several users, and each of several contexts of a user, spent in each phase that any of them has. */
static int user_phases_emit(struct table *table, const struct user *users, size_t count)
{
	const struct phase_columns columns = phase_columns_find(users, count);
	struct text *text = &table->text;
	char name[USER_NAME_SIZE], note[32];
	uint64_t calls = 0;
	int result;

	for (size_t i = 0; i < count; i++)
		calls += users[i].process ? users[i].process->calls : 0;
	if (!calls)
		return 0; /* only jobs are known */
	text_append_string(text, "|| ");
	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++) {
		if (columns.totals[PHASE_SHOWN(i)] > 0)
			text_append_format(text, "%s" CELL, ivpu_phase_name(PHASE_SHOWN(i)));
	}
	text_append_format(text, "NPU user and phase (%s)", columns.has_times ? "driver time" : "calls");
	result = row_emit(table, "npu-phases-by-user", (double)count, 0);
	for (size_t i = 0; i < count && i < USE_USERS_SHOWN && !result; i++) {
		const struct user *user = &users[i];
		if (!user->process)
			continue;
		user_name(table, user->pid, name);
		result = phases_row_emit(table, &columns, user->process->phases, "npu-phases-of-user", "", name,
					 user->process->calls, user->pid);
		for (size_t k = 0; k < user->count && user->count > 1 && k < USE_CONTEXTS_SHOWN && !result; k++) {
			const struct npu_context *context = &user->contexts[k];
			if (!context->calls)
				continue;
			context_name(context, name);
			snprintf(note, sizeof note, "npu-phases-context-%" PRIu32, context->key.context);
			result = phases_row_emit(table, &columns, context->phases, note, BELOW, name, context->calls,
						 user->pid);
		}
	}
	return result;
}

static int users_emit(struct table *table)
{
	const struct npu_use *use = table->use;
	struct npu_context *contexts CLEANUP_FREE = calloc(use->contexts.count + 1, sizeof *contexts);
	struct user *users CLEANUP_FREE = calloc(use->contexts.count + use->processes.count + 1, sizeof *users);

	if (!contexts || !users)
		return -ENOMEM;
	size_t count = users_collect(use, contexts, users);
	if (!count)
		return 0;
	for (size_t i = 0; i < use->processes.count; i++) {
		table->has_memory |= use->processes.items[i].memory;
		table->has_allocated |= use->processes.items[i].allocated;
	}
	text_append_format(&table->text, "|| jobs | run | share | queue/job | boot | %s%smapped | calls | NPU user",
			   table->has_memory ? "memory | " : "", table->has_allocated ? "allocated | " : "");
	int result = row_emit(table, "npu-users", (double)count, 0);
	for (size_t i = 0; i < count && i < USE_USERS_SHOWN && !result; i++)
		result = user_emit(table, &users[i]);
	if (count > 1 && !result)
		result = total_emit(table, users, count);
	if (count > USE_USERS_SHOWN && !result)
		result = more_emit(table, "npu-users-more", "", count - USE_USERS_SHOWN, "users", 0);
	bool is_divided = count > 1 || users[0].count > 1;
	return is_divided && !result ? user_phases_emit(table, users, count) : result;
}

int npu_use_emit(const struct npu_use *use, struct record_batch *batch, const struct ivpu_statistics *statistics,
		 uint64_t time)
{
	struct table table = { .use = use, .batch = batch, .time = time };
	int result = phases_emit(&table, statistics);

	if (!result)
		result = users_emit(&table);
	if (use->dropped)
		batch->host->lost(batch->host, "NPU use: too many processes or contexts", time, use->dropped, 0, 0);
	text_free(&table.text);
	return result;
}
