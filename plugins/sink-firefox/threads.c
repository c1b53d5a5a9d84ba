/* SPDX-License-Identifier: Apache-2.0 */
/* See threads.h. */
#include "threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "stacks/value_choice.h"
#include "stacks/value_label.h"

void milliseconds_append(struct text *text, uint64_t nanoseconds)
{
	uint64_t rest = nanoseconds % 1000000;
	text_append_unsigned(text, nanoseconds / 1000000);
	if (!rest)
		return;
	text_append_format(text, ".%06" PRIu64, rest);
	while (!text->failed && text->data[text->size - 1] == '0')
		text->size--;
}

static const struct iaprof_frame *root_of(const struct threads *threads, const struct timed_value *value)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(threads->profile, value->stack);
	return iaprof_profile_frame(threads->profile, stack->frames[0]);
}

/* Members that identify a thread, without padding. */
struct thread_key {
	const char *name;
	uint32_t value_type, pid, is_lost, tid;
};

/* Returns the thread of a value, and adds it if it is new; NULL when out of memory. */
static struct thread *thread_get(struct threads *threads, struct string_table *keys, const struct timed_value *value)
{
	const struct iaprof_frame *root = root_of(threads, value);
	struct iaprof_stack_origin origin = iaprof_profile_stack(threads->profile, value->stack)->origin;
	const struct thread_key key = { origin.thread, value->value_type, root->pid, root->kind == IAPROF_FRAME_LOST,
					origin.tid };
	bool is_new = false;
	uint32_t id = string_table_add(keys, (const char *)&key, sizeof key, &is_new);
	const struct thread thread = {
		.value_type = key.value_type, .pid = key.pid, .is_lost = key.is_lost, .tid = key.tid, .name = key.name
	};
	if (!id || (is_new && !array_push(&threads->items, thread)))
		return NULL;
	threads->items.items[id - 1].program = root->name;
	return &threads->items.items[id - 1];
}

static bool is_same_process(const struct thread *a, const struct thread *b)
{
	return a->pid == b->pid && a->is_lost == b->is_lost;
}

/* Whether the file has the same ID for both; such threads follow each other. */
static bool is_same_id(const struct thread *a, const struct thread *b)
{
	return is_same_process(a, b) && a->value_type == b->value_type &&
	       (a->tid ? a->tid : a->pid) == (b->tid ? b->tid : b->pid);
}

/* The main thread comes first, then samples without a known thread. */
static uint32_t place_of(const struct thread *thread)
{
	return thread->tid == thread->pid ? 0 : thread->tid ? thread->tid : 1;
}

static int compare(const void *left, const void *right, void *context)
{
	const struct thread *a = left, *b = right;
	const struct threads *threads = context;
	if (a->is_lost != b->is_lost)
		return a->is_lost ? 1 : -1;
	if (a->process_share < b->process_share || a->process_share > b->process_share)
		return a->process_share > b->process_share ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	uint32_t left_tid = place_of(a), right_tid = place_of(b);
	bool is_first = a->value_type == threads->shown_type, is_second = b->value_type == threads->shown_type;
	if (is_first != is_second)
		return is_first ? -1 : 1;
	if (a->value_type != b->value_type)
		return a->value_type < b->value_type ? -1 : 1;
	if (left_tid != right_tid)
		return left_tid < right_tid ? -1 : 1;
	return strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

/* Sets the shares, from which the order of processes follows. */
static bool weigh(struct threads *threads)
{
	double *totals = calloc(threads->profile->value_type_count + 1, sizeof *totals);
	struct string_table pids = { 0 };
	ARRAY(double) shares = { 0 };
	bool good = totals != NULL;
	for (size_t i = 0; good && i < threads->items.count; i++)
		totals[threads->items.items[i].value_type] += (double)threads->items.items[i].value;
	for (size_t i = 0; good && i < threads->items.count; i++) {
		struct thread *thread = &threads->items.items[i];
		thread->share = (double)thread->value / totals[thread->value_type];
		const uint32_t key[] = { thread->pid, thread->is_lost };
		uint32_t id = string_table_add(&pids, (const char *)key, sizeof key, NULL);
		good = id && array_extend(&shares, id);
		if (good && shares.items[id - 1] < thread->share)
			shares.items[id - 1] = thread->share;
	}
	for (size_t i = 0; good && i < threads->items.count; i++) {
		struct thread *thread = &threads->items.items[i];
		const uint32_t key[] = { thread->pid, thread->is_lost };
		thread->process_share = shares.items[string_table_find(&pids, (const char *)key, sizeof key) - 1];
	}
	string_table_free(&pids);
	array_free(&shares);
	free(totals);
	return good;
}

/* Returns the program that most of a process was sampled in, for it may have run others before exec(). first: its first
 * thread. */
static const char *program_of(const struct threads *threads, size_t first)
{
	const struct thread *items = threads->items.items, *most = &items[first];
	for (size_t i = first; i < threads->items.count && is_same_process(&items[i], &items[first]); i++)
		most = items[i].share > most->share ? &items[i] : most;
	return most->program;
}

bool threads_make(struct threads *threads, const struct iaprof_profile *profile, uint64_t step)
{
	*threads = (struct threads){ .profile = profile, .shown_type = value_type_best(profile) };
	struct string_table keys = { 0 };
	bool good = timed_values_make(&threads->values, profile, step);
	const struct timed_value *values = threads->values.items.items;
	size_t count = threads->values.items.count, position = 0;
	threads->order = calloc(count + 1, sizeof *threads->order);
	uint32_t *thread_of = calloc(count + 1, sizeof *thread_of);
	good = good && threads->order && thread_of;
	for (size_t i = 0; good && i < count; i++) {
		struct thread *thread = thread_get(threads, &keys, &values[i]);
		good = thread != NULL;
		if (!thread)
			break;
		saturating_increase(&thread->value, values[i].value);
		thread->count++;
		thread_of[i] = (uint32_t)(thread - threads->items.items);
	}
	for (size_t i = 0; good && i < threads->items.count; i++) {
		threads->items.items[i].first = position;
		position += threads->items.items[i].count;
		threads->items.items[i].count = 0;
	}
	for (size_t i = 0; good && i < count; i++) {
		struct thread *thread = &threads->items.items[thread_of[i]];
		threads->order[thread->first + thread->count++] = (uint32_t)i;
	}
	good = good && weigh(threads);
	if (good && threads->items.count)
		qsort_r(threads->items.items, threads->items.count, sizeof *threads->items.items, compare, threads);
	for (size_t i = 0; good && i < threads->items.count; i++) {
		struct thread *thread = &threads->items.items[i], *before = i ? thread - 1 : NULL;
		thread->is_main = !before || !is_same_process(thread, before);
		thread->program = thread->is_main ? program_of(threads, i) : before->program;
		if (before && is_same_id(thread, before))
			thread->number = before->number + 1;
	}
	string_table_free(&keys);
	free(thread_of);
	return good;
}

void threads_free(struct threads *threads)
{
	timed_values_free(&threads->values);
	array_free(&threads->items);
	free(threads->order);
	threads->order = NULL;
}

/* Returns the end of the items of a time slot that begins with item i. */
static size_t slot_end(const struct threads *threads, const struct thread *thread, size_t i)
{
	const struct timed_value *values = threads->values.items.items;
	const uint32_t *order = &threads->order[thread->first];
	size_t end = i + 1;
	while (end < thread->count && values[order[end]].time == values[order[i]].time)
		end++;
	return end;
}

/* Appends times in ms since the start of the run. The samples of a slot are spread over it. */
static void append_times(const struct threads *threads, const struct thread *thread, struct text *text)
{
	const struct iaprof_profile *profile = threads->profile;
	const struct timed_value *values = threads->values.items.items;
	uint64_t width = threads->values.width, last = 0;
	if (!width) /* times are unknown */
		width = profile->end > profile->begin ? profile->end - profile->begin : 0;
	for (size_t i = 0; i < thread->count;) {
		size_t first = i, end = slot_end(threads, thread, i);
		uint64_t time = values[threads->order[thread->first + i]].time, until = time + width;
		uint64_t from = time > profile->begin ? time - profile->begin : 0;
		uint64_t length = until > profile->begin + from ? until - profile->begin - from : 0;
		for (; i < end; i++) {
			uint64_t at = from + (uint64_t)((unsigned __int128)length * (i - first) / (end - first));
			last = at > last ? at : last;
			text_append_string(text, i ? "," : "");
			milliseconds_append(text, last);
		}
	}
}

static void append_samples(const struct threads *threads, const struct thread *thread, struct tables *tables,
			   struct text *text)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(threads->profile, thread->value_type);
	bool is_time = strcmp(type->unit, "nanoseconds") == 0;
	const struct timed_value *values = threads->values.items.items;
	const uint32_t *order = &threads->order[thread->first];
	text_append_format(text, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\"stack\":[", thread->count,
			   is_time                            ? "tracing-ms"
			   : strcmp(type->unit, "bytes") == 0 ? "bytes"
							      : "samples");
	for (size_t i = 0; i < thread->count; i++) {
		uint32_t stack = tables_stack(tables, values[order[i]].stack);
		text_append_string(text, i ? "," : "");
		if (stack)
			text_append_unsigned(text, stack - 1);
		else
			text_append_string(text, "null");
	}
	text_append_string(text, "],\n\"time\":[");
	append_times(threads, thread, text);
	text_append_string(text, "],\n\"weight\":[");
	for (size_t i = 0; i < thread->count; i++) {
		text_append_string(text, i ? "," : "");
		if (is_time)
			milliseconds_append(text, values[order[i]].value);
		else
			text_append_unsigned(text, values[order[i]].value);
	}
	text_append_string(text, "]}");
}

static void append_thread(const struct threads *threads, const struct thread *thread, struct tables *tables,
			  struct text *text)
{
	struct text label = { 0 };
	if (thread->name) {
		text_append_name(&label, thread->name);
		text_append_string(&label, ": ");
	}
	value_type_append_own_title(&label, threads->profile, thread->value_type);
	text_append_string(text, "{\"name\":");
	text_append_json(text, text_string(&label));
	text_append_string(text, ",\"processName\":");
	text_append_json(text, thread->is_lost ? "[lost]" : thread->program);
	text_append_format(text, ",\"isMainThread\":%s,\"processType\":\"default\",",
			   thread->is_main ? "true" : "false");
	/* IDs are texts, which may be any; a thread can have several names, and those of one name can be merged. */
	text_append_format(text, "\"pid\":\"%" PRIu32 "%s\",\"tid\":\"%" PRIu32 "%s/%" PRIu32, thread->pid,
			   thread->is_lost ? "-lost" : "", thread->tid ? thread->tid : thread->pid,
			   thread->is_lost ? "-lost" : "", thread->value_type);
	if (thread->number)
		text_append_format(text, ".%" PRIu32, thread->number);
	text_append_string(text, "\",");
	text_append_string(text, "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
				 "\"unregisterTime\":null,\"pausedRanges\":[],\n"
				 "\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
				 "\"phase\":[],\"category\":[]},\n");
	append_samples(threads, thread, tables, text);
	text_append_string(text, "}");
	text->failed |= label.failed;
	text_free(&label);
}

void threads_append(const struct threads *threads, struct tables *tables, struct text *text)
{
	text_append_string(text, "[");
	for (size_t i = 0; i < threads->items.count; i++) {
		text_append_string(text, i ? ",\n" : "\n");
		append_thread(threads, &threads->items.items[i], tables, text);
	}
	text_append_string(text, "]");
}
