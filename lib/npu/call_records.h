/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits calls as records: assigns ids to functions and call paths, defines each before its first use, and emits CALL
 * records with the value types npu-time and npu-calls. Both tables are bounded: what does not fit gets the id of
 * "[other calls]". Owned by one thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/host.h>
#include "base/keyed_array.h"
#include "base/string_table.h"
#include "npu/call_graph.h"
#include "records/record_batch.h"

/* Maximum number of functions and of call paths per run. The driver of Linux 7.2 has 315 traceable functions. */
#define CALL_FUNCTIONS_MAX 4096u
#define CALL_NODES_MAX 65536u

/* Calls that share a node, a thread and a stack. */
struct calls {
	uint32_t node;    /* from call_records_node() */
	uint32_t pid;     /* 0: no process */
	uint32_t context; /* of the NPU; 0: not known. Not part of records */
	uint32_t tid;     /* 0: of any thread */
	uint32_t user_stack;
	const char *thread_name; /* NULL or "": not known, or of any thread */
	uint64_t count;          /* >= 1 */
	uint64_t duration, self_duration;
	uint64_t first_time, last_time; /* start times of the first and the last call */
	int64_t result;                 /* result of the last call */
	uint32_t time_type, count_type; /* value type ids; 0: npu-time and npu-calls */
};

/* A call path; its id is 1 + its position. */
struct call_node {
	struct call_node_key {
		uint32_t parent, function; /* ids; parent 0: outermost */
	} key;
	uint32_t depth;
	uint32_t name; /* string id */
};

struct call_records {
	const struct iaprof_host *host;
	struct record_batch batch;
	struct string_table functions;  /* by kind and name */
	ARRAY(uint32_t) function_names; /* string ids, by id - 1 */
	KEYED_ARRAY(struct call_node) nodes;
	uint32_t time_type, count_type; /* value type ids */
};

/* Declares the value types. Returns 0, or a negative errno after host->fail(). */
int call_records_init(struct call_records *records, const struct iaprof_host *host);
void call_records_free(struct call_records *records);

/*
 * Returns the id of a function, which is defined at that time if it is new, or 0 when out of memory. family may be
 * NULL, kind is an enum iaprof_call_kind. The same name and kind have the same id.
 */
uint32_t call_records_function(struct call_records *records, const char *name, const char *family, uint32_t kind,
			       uint64_t time);

/*
 * Returns the id of the node of a function below a parent (0: outermost), which is defined at that time if it is new,
 * or 0 when out of memory.
 */
uint32_t call_records_node(struct call_records *records, uint32_t parent, uint32_t function, uint64_t time);
/* The same with the function's name. */
uint32_t call_records_named_node(struct call_records *records, uint32_t parent, const char *name, const char *family,
				 uint32_t kind, uint64_t time);
/* The same for a function whose callers are not known: only one that nothing else calls can be placed. */
uint32_t call_records_lone_node(struct call_records *records, uint32_t function, const struct call_entry *entry,
				uint64_t time);

/* The root of calls that cannot be placed. */
#define CALL_ORDER_UNKNOWN "[order not known]"

/* These return 0 or a negative errno. A full queue is not an error: the core counts what it dropped. */
int call_records_add(struct call_records *records, const struct calls *calls);
int call_records_flush(struct call_records *records);
