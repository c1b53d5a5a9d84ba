/* SPDX-License-Identifier: Apache-2.0 */
/* See call_records.h. */
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "call_records.h"

#define OTHER_CALLS "[other calls]"

struct function {
	uint32_t id, kind;
	char name[];
};

struct node {
	uint32_t id, parent, function;
};

static int compare_functions(const void *left, const void *right)
{
	const struct function *one = left, *other = right;
	return one->kind != other->kind ? (one->kind < other->kind ? -1 : 1) : strcmp(one->name, other->name);
}

static int compare_nodes(const void *left, const void *right)
{
	const struct node *one = left, *other = right;
	if (one->parent != other->parent)
		return one->parent < other->parent ? -1 : 1;
	return one->function < other->function ? -1 : one->function > other->function;
}

int call_records_init(struct call_records *records, const struct iaprof_host *host)
{
	*records = (struct call_records){ .host = host };
	int result = record_batch_init(&records->batch, host);
	if (result)
		return result;
	/* Pages of unused nodes are never touched. */
	records->nodes = calloc(CALL_NODES_MAX + 1, sizeof *records->nodes);
	records->function_names = calloc(CALL_FUNCTIONS_MAX + 1, sizeof *records->function_names);
	if (!records->nodes || !records->function_names)
		return host->fail(host, ENOMEM, "out of memory");
	records->time_type = host->declare_value_type(host, "npu-time", "nanoseconds", 0);
	records->count_type = host->declare_value_type(host, "npu-calls", "count", 1);
	return 0;
}

void call_records_free(struct call_records *records)
{
	tdestroy(records->functions, free);
	tdestroy(records->node_index, free);
	free(records->nodes);
	free(records->function_names);
	record_batch_free(&records->batch);
	*records = (struct call_records){ 0 };
}

static uint32_t define_function(struct call_records *records, struct function *function, const char *family,
				uint64_t time)
{
	function->id = ++records->function_count;
	records->function_names[function->id] = record_batch_text(&records->batch, function->name);
	struct iaprof_record_call_function record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CALL_FUNCTION, .time = time },
		.id = function->id,
		.name = records->function_names[function->id],
		.family = record_batch_text(&records->batch, family),
		.kind = function->kind,
	};
	return record_batch_append(&records->batch, &record.header) ? 0 : function->id;
}

uint32_t call_records_function(struct call_records *records, const char *name, const char *family, uint32_t kind,
			       uint64_t time)
{
	size_t size = strlen(name) + 1;
	struct function *function = malloc(sizeof *function + size);
	if (!function)
		return 0;
	*function = (struct function){ .kind = kind };
	memcpy(function->name, name, size);
	/* One slot is reserved for [other calls]. */
	struct function *const *known = tfind(function, &records->functions, compare_functions);
	if (!known && records->function_count >= CALL_FUNCTIONS_MAX - 1 && strcmp(name, OTHER_CALLS) != 0) {
		free(function);
		return call_records_function(records, OTHER_CALLS, NULL, IAPROF_CALL_CONTEXT, time);
	}
	known = known ? known : tsearch(function, &records->functions, compare_functions);
	if (!known || *known != function) {
		free(function);
		return known ? (*known)->id : 0;
	}
	return define_function(records, function, family, time);
}

static uint32_t define_node(struct call_records *records, struct node *node, uint64_t time)
{
	node->id = ++records->node_count;
	records->nodes[node->id] = (struct call_record_node){
		.function = node->function,
		.parent = node->parent,
		.depth = node->parent ? records->nodes[node->parent].depth + 1 : 0,
		.name = records->function_names[node->function],
	};
	struct iaprof_record_call_node record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CALL_NODE, .time = time },
		.id = node->id,
		.parent = node->parent,
		.function = node->function,
	};
	return record_batch_append(&records->batch, &record.header) ? 0 : node->id;
}

uint32_t call_records_node(struct call_records *records, uint32_t parent, uint32_t function, uint64_t time)
{
	struct node wanted = { .parent = parent, .function = function };
	struct node *const *known = tfind(&wanted, &records->node_index, compare_nodes);
	if (known)
		return (*known)->id;
	if (parent && records->nodes[parent].depth + 1 >= IAPROF_CALL_DEPTH_MAX)
		return parent;
	/* One slot is reserved for [other calls]. */
	if (records->node_count >= CALL_NODES_MAX - 1 &&
	    (parent || function != call_records_function(records, OTHER_CALLS, NULL, IAPROF_CALL_CONTEXT, time)))
		return call_records_node(
			records, 0, call_records_function(records, OTHER_CALLS, NULL, IAPROF_CALL_CONTEXT, time), time);
	struct node *node = malloc(sizeof *node);
	if (!node)
		return 0;
	*node = wanted;
	if (!tsearch(node, &records->node_index, compare_nodes)) {
		free(node);
		return 0;
	}
	return define_node(records, node, time);
}

int call_records_add(struct call_records *records, const struct calls *calls)
{
	const struct call_record_node *node = &records->nodes[calls->node];
	bool has_name = calls->thread_name && *calls->thread_name;
	struct iaprof_record_call record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CALL, .time = calls->last_time },
		.name = node->name,
		.pid = calls->pid,
		.tid = calls->tid,
		.depth = node->depth,
		.parent = node->parent ? records->nodes[node->parent].name : 0,
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
