/* SPDX-License-Identifier: Apache-2.0 */
/* See call_records.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>
#include "npu/call_records.h"

#define OTHER_CALLS "[other calls]"

/* A name with its kind. KSYM_NAME_LEN, include/linux/kallsyms.h, is 512. */
#define FUNCTION_KEY_SIZE 528

int call_records_init(struct call_records *records, const struct iaprof_host *host)
{
	*records = (struct call_records){ .host = host };
	int result = record_batch_init(&records->batch, host);
	if (result)
		return result;
	records->time_type = host->declare_value_type(host, "npu-time", "nanoseconds", 0);
	records->count_type = host->declare_value_type(host, "npu-calls", "count", 1);
	return 0;
}

void call_records_free(struct call_records *records)
{
	string_table_free(&records->functions);
	array_free(&records->function_names);
	keyed_array_free(&records->nodes);
	record_batch_free(&records->batch);
	*records = (struct call_records){ 0 };
}

static uint32_t other_calls_function(struct call_records *records, uint64_t time)
{
	return call_records_function(records, OTHER_CALLS, NULL, IAPROF_CALL_CONTEXT, time);
}

uint32_t call_records_function(struct call_records *records, const char *name, const char *family, uint32_t kind,
			       uint64_t time)
{
	char key[FUNCTION_KEY_SIZE];
	snprintf(key, sizeof key, "%" PRIu32 " %s", kind, name);
	uint32_t id = string_table_find(&records->functions, key, strlen(key));
	if (id)
		return id;
	/* One slot is reserved for [other calls]. */
	if (records->functions.entries.count >= CALL_FUNCTIONS_MAX - 1 && strcmp(name, OTHER_CALLS) != 0)
		return other_calls_function(records, time);
	struct iaprof_record_call_function record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CALL_FUNCTION, .time = time },
		.id = string_table_add(&records->functions, key, strlen(key), NULL),
		.name = record_batch_text(&records->batch, name),
		.family = record_batch_text(&records->batch, family),
		.kind = kind,
	};
	if (!record.id || !array_push(&records->function_names, record.name))
		return 0;
	return record_batch_append(&records->batch, &record.header) ? 0 : record.id;
}

static uint32_t node_define(struct call_records *records, struct call_node_key key, uint64_t time)
{
	const struct call_node added = {
		.key = key,
		.depth = key.parent ? records->nodes.items[key.parent - 1].depth + 1 : 0,
		.name = records->function_names.items[key.function - 1],
	};
	uint32_t position = keyed_array_add(&records->nodes, &added);
	if (position == POSITION_NONE)
		return 0;
	struct iaprof_record_call_node record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CALL_NODE, .time = time },
		.id = position + 1,
		.parent = key.parent,
		.function = key.function,
	};
	return record_batch_append(&records->batch, &record.header) ? 0 : record.id;
}

uint32_t call_records_node(struct call_records *records, uint32_t parent, uint32_t function, uint64_t time)
{
	const struct call_node_key key = { .parent = parent, .function = function };
	uint32_t known = keyed_array_find(&records->nodes, &key);
	if (known != POSITION_NONE)
		return known + 1;
	if (parent && records->nodes.items[parent - 1].depth + 1 >= IAPROF_CALL_DEPTH_MAX)
		return parent;
	/* One slot is reserved for [other calls]. */
	if (records->nodes.count >= CALL_NODES_MAX - 1 && (parent || function != other_calls_function(records, time)))
		return call_records_node(records, 0, other_calls_function(records, time), time);
	return node_define(records, key, time);
}

uint32_t call_records_named_node(struct call_records *records, uint32_t parent, const char *name, const char *family,
				 uint32_t kind, uint64_t time)
{
	uint32_t function = call_records_function(records, name, family, kind, time);
	return function ? call_records_node(records, parent, function, time) : 0;
}

uint32_t call_records_lone_node(struct call_records *records, uint32_t function, const struct call_entry *entry,
				uint64_t time)
{
	bool is_placed = call_entry_is_outermost(entry);
	uint32_t parent =
		is_placed ? 0
			  : call_records_named_node(records, 0, CALL_ORDER_UNKNOWN, NULL, IAPROF_CALL_CONTEXT, time);
	return function && (is_placed || parent) ? call_records_node(records, parent, function, time) : 0;
}

int call_records_add(struct call_records *records, const struct calls *calls)
{
	const struct call_node *node = &records->nodes.items[calls->node - 1];
	bool has_name = calls->thread_name && *calls->thread_name;
	struct iaprof_record_call record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CALL, .time = calls->last_time },
		.name = node->name,
		.pid = calls->pid,
		.tid = calls->tid,
		.depth = node->depth,
		.parent = node->key.parent ? records->nodes.items[node->key.parent - 1].name : 0,
		.user_stack = calls->user_stack,
		.duration = calls->duration,
		.count = calls->count,
		.first_time = calls->first_time,
		.result = calls->result,
		.node = calls->node,
		.time_type = calls->time_type ? calls->time_type : records->time_type,
		.count_type = calls->count_type ? calls->count_type : records->count_type,
		.thread_name = has_name ? record_batch_text(&records->batch, calls->thread_name) : 0,
		.self_duration = calls->self_duration,
	};
	return record_batch_append(&records->batch, &record.header);
}

int call_records_flush(struct call_records *records)
{
	return record_batch_flush(&records->batch);
}
