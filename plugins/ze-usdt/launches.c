/* SPDX-License-Identifier: Apache-2.0 */
/* See launches.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"
#include "bpf/thread_contexts.h"
#include "drain.h"
#include "launches.h"
#include "probes.h"

/* Two CPUs may have updated a count at once, leaving the times in either order. */
static uint64_t last_time(const struct ze_count *count)
{
	return count->last_time > count->first_time ? count->last_time : count->first_time;
}

/* Emits a record of launches. The caller sets all members except header, count, first_time and span. */
static int launch_emit(struct drain *drain, struct iaprof_record_launch *launch, const __u64 *span,
		       const struct ze_count *count, uint64_t times)
{
	launch->header = (struct iaprof_record){ .type = IAPROF_RECORD_LAUNCH, .time = last_time(count) };
	thread_contexts_set_span(&launch->header, &launch->span, span);
	launch->count = count->count * times;
	launch->first_time = count->first_time;
	return record_batch_append(&drain->batch, &launch->header);
}

/*
 * Returns the id of the user stack of a launch. A launch is a call from Python: each call of the evaluation loop on its
 * stack has Python frames, as far as the stack reaches.
 */
static uint32_t user_stack_intern(struct drain *drain, uint32_t process, const void *elements, uint64_t depth)
{
	uint32_t flags = STACK_TRUNCATED;
	return stack_reader_intern(drain->stacks, process, 0, &flags, elements, depth);
}

static int launch_emit_immediate(struct drain *drain, const struct ze_launch_key *key, uint32_t kernel,
				 uint32_t user_stack, const struct ze_count *count)
{
	const struct iaprof_host *host = drain->host;
	struct iaprof_record_launch launch = {
		.kernel = kernel,
		.pid = key->process.id,
		.tid = key->thread,
		.thread_name =
			host->intern_string(host, key->thread_name, strnlen(key->thread_name, sizeof key->thread_name)),
		.user_stack = user_stack,
		.kernel_stack = stack_index_intern(&drain->stacks->index, host, 0, key->kernel_stack),
	};
	launch.correlation = times_add_launches(&drain->times, key, kernel, count->count);
	return launch_emit(drain, &launch, key->span, count, 1);
}

/* Ids of stacks are valid for 5 seconds (host.h). */
#define STACK_VALID UINT64_C(4000000000) /* ns */

/* Launches that a process counted after the last launch with this key that fired the probe was emitted. */
static int launches_emit_late(void *context, const struct known_launch *launch, const struct counted *counted)
{
	struct drain *drain = context;
	const struct iaprof_host *host = drain->host;
	const struct ze_count count = { counted->count, counted->first_time, counted->last_time };

	if (!launch->kernel) {
		host->lost(host, "kernel not known", count.first_time, count.count, 0, 0);
	} else if (!launch->key.list) {
		bool is_valid = host->clock(host) - launch->read_time < STACK_VALID;
		return launch_emit_immediate(drain, &launch->key, launch->kernel, is_valid ? launch->stack : 0, &count);
	} else if (!recordings_add_more(&drain->recordings, &launch->key, count.count)) {
		host->lost(host, "launches of a command list not kept", count.first_time, count.count, 0, 0);
	}
	return 0;
}

/* Adds launches that were counted in memory to the count of those that fired the probe. */
static void count_widen(struct ze_count *count, const struct counted *more)
{
	if (!more->count)
		return;
	count->count += more->count;
	if (more->first_time < count->first_time)
		count->first_time = more->first_time;
	if (more->last_time > count->last_time)
		count->last_time = more->last_time;
}

/* Launches with a key of the set, and those that their process has counted in memory since. */
static int launches_emit_key(struct drain *drain, const struct ze_launch_key *key, const struct ze_count *counted)
{
	const struct iaprof_host *host = drain->host;
	const struct kernel *kernel = code_objects_find_kernel(&drain->objects, key->kernel);
	const struct stack_addresses *stack = stack_index_find(&drain->stacks->index, key->user_stack);
	struct ze_count count = *counted;
	uint64_t now = host->clock(host);
	struct known_launch launch = {
		.key = *key, .kernel = kernel ? kernel->id : 0, .time = count.first_time, .read_time = now
	};
	struct counted more = { 0 };
	int result = 0;

	if (kernel && !key->list && stack)
		launch.stack = user_stack_intern(drain, key->process.id, stack->addresses, stack->depth);
	/* The process counts launches of all spans together. */
	memset(launch.key.span, 0, sizeof launch.key.span);
	if (key->cell && count_areas_take(&drain->counts, &launch, now, &more) &&
	    memcmp(launch.key.span, key->span, sizeof key->span) == 0)
		count_widen(&count, &more);
	else if (more.count)
		result = launches_emit_late(drain, &launch, &more);
	if (result)
		return result;
	/* Stored before its first launch; forgotten only if there are too many. */
	if (!kernel) {
		host->lost(host, "kernel not known", count.first_time, count.count, 0, 0);
		return 0;
	}
	if (!key->list)
		return launch_emit_immediate(drain, key, kernel->id, launch.stack, &count);
	return recordings_add(&drain->recordings, key, count.count, kernel->id, kernel->module, stack)
		       ? 0
		       : host->fail(host, ENOMEM, "out of memory");
}

int launches_emit(struct drain *drain, bool is_last)
{
	const struct ze_launch_key *keys = (const void *)drain->launches.keys;
	const struct ze_count *counts = (const void *)drain->launches.values;
	int result = 0;

	for (uint32_t i = 0; i < drain->launches.count && result == 0; i++)
		result = launches_emit_key(drain, &keys[i], &counts[i]);
	return result ? result
		      : count_areas_sweep(&drain->counts, drain->host->clock(drain->host), is_last, launches_emit_late,
					  drain);
}

/* Launches that the executions of one turn add to recordings, and records that they become, at most. */
#define COPIES_MAX 262144u
#define RECORDS_MAX 1048576u

/* Launches of an execution that are not in records. expected: ZE_LAUNCHES_UNKNOWN, some of its contents are unknown. */
static void missing_report(const struct drain *drain, const struct recording *recording, uint64_t expected,
			   const struct ze_count *count)
{
	const struct iaprof_host *host = drain->host;
	uint64_t known = recording ? recording->launch_count : 0;

	if (recording && recording->dropped)
		host->lost(host, "launches of a command list not kept", count->first_time, known * count->count, 0, 0);
	if (expected == ZE_LAUNCHES_UNKNOWN)
		host->lost(host, "launches of a command list or graph from before the tracer was loaded",
			   count->first_time, IAPROF_COUNT_UNKNOWN, 0, 0);
	else if (expected > known)
		host->lost(host,
			   !recording && drain->recordings.forgotten
				   ? "launches of a command list not kept"
				   : "launches of a command list or graph from before the profiler was attached",
			   count->first_time, (expected - known) * count->count, 0, 0);
}

static int recording_emit(struct drain *drain, const struct recording *recording, const struct ze_count *count,
			  const struct ze_execution_key *key)
{
	const struct iaprof_host *host = drain->host;
	uint32_t kernel_stack_id = stack_index_intern(&drain->stacks->index, host, 0, key->kernel_stack);
	int result = 0;

	for (uint32_t i = 0; i < recording->launches.count && result == 0; i++) {
		const struct recorded_launch *launch = &recording->launches.items[i];
		struct iaprof_record_launch record = { .kernel = launch->kernel,
						       .pid = recording->process.id,
						       .kernel_stack = kernel_stack_id };
		if (launch->stack)
			record.user_stack = user_stack_intern(drain, recording->process.id, launch->stack->addresses,
							      launch->stack->depth);
		result = launch_emit(drain, &record, key->span, count, launch->count);
	}
	return result;
}

struct appended {
	const struct ze_execution_key *key;
	const struct ze_count *count;
};

static int appended_order(const void *left, const void *right)
{
	uint64_t a = ((const struct appended *)left)->count->first_time;
	uint64_t b = ((const struct appended *)right)->count->first_time;

	return (a > b) - (a < b);
}

/*
 * Recordings that were appended to others, in the order of time: what is appended is complete, so that all of its own
 * parts were appended before.
 */
static int appends_apply(struct drain *drain)
{
	const struct ze_execution_key *keys = (const void *)drain->executions.keys;
	const struct ze_count *counts = (const void *)drain->executions.values;
	CLEANUP_FREE struct appended *appended = calloc(drain->executions.count + 1, sizeof *appended);
	size_t count = 0;

	if (!appended)
		return drain->host->fail(drain->host, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < drain->executions.count; i++)
		if (keys[i].parent)
			appended[count++] = (struct appended){ &keys[i], &counts[i] };
	drain->recordings.copies_left = COPIES_MAX;
	qsort(appended, count, sizeof *appended, appended_order);
	for (size_t i = 0; i < count; i++)
		if (!recordings_nest(&drain->recordings, &appended[i].key->process, appended[i].key->parent,
				     appended[i].key->list, appended[i].count->count))
			return drain->host->fail(drain->host, ENOMEM, "out of memory");
	return 0;
}

int executions_emit(struct drain *drain)
{
	const struct ze_execution_key *keys = (const void *)drain->executions.keys;
	const struct ze_count *counts = (const void *)drain->executions.values;
	uint64_t records = 0;
	int result = appends_apply(drain);

	for (uint32_t i = 0; i < drain->executions.count && result == 0; i++) {
		if (keys[i].parent)
			continue;
		const struct recording *recording = recordings_find(&drain->recordings, &keys[i].process, keys[i].list);
		missing_report(drain, recording, keys[i].launches, &counts[i]);
		records += recording ? recording->launches.count : 0;
		drain->times.launched += recording ? recording->launch_count * counts[i].count : 0;
		if (recording && records > RECORDS_MAX)
			drain->host->lost(drain->host, "execution of a command list not counted", counts[i].first_time,
					  recording->launch_count * counts[i].count, 0, 0);
		else if (recording)
			result = recording_emit(drain, recording, &counts[i], &keys[i]);
	}
	return result;
}
