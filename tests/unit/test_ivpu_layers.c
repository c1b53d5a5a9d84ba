/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers and tasks of an NPU: how the bytes of the profiling extension are read, and what BPF programs see of them when
 * a program, which is this one, asks for them. Its get_data() stands for the driver's.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#include <iaprof/host.h>
#include <iaprof/record.h>

#include "base/clock.h"
#include "layer_data.h"
#include "layers.h"
#include "../run_suite.h"

/* From the fields of the public header ze_graph_profiling_ext.h. */
struct layer_info {
	char name[256];
	char layer_type[50];
	uint32_t status;
	uint64_t start_time_ns, duration_ns;
	uint32_t layer_id;
	uint64_t fused_layer_id, dpu_ns, sw_ns, dma_ns;
};
struct task_info {
	char name[256];
	char layer_type[50];
	uint32_t exec_type;
	uint64_t start_time_ns, duration_ns;
	uint32_t active_cycles, stall_cycles, task_id, parent_layer_id;
};
_Static_assert(sizeof(struct layer_info) == LAYER_SIZE && sizeof(struct task_info) == TASK_SIZE, "layout");

static const struct layer_info layers_of_model[] = {
	{ .name = "conv1",
	  .layer_type = "Convolution",
	  .status = 3,
	  .duration_ns = 6000,
	  .dpu_ns = 3000,
	  .dma_ns = 1000 },
	{ .name = "relu1", .layer_type = "Relu", .status = 2, .duration_ns = 77 },
	{ .name = "softmax", .layer_type = "Softmax", .status = 3, .duration_ns = 2000, .sw_ns = 500 },
};
static const struct task_info tasks_of_model[] = {
	{ .name = "conv1/0", .exec_type = 1, .duration_ns = 4000, .active_cycles = 300, .stall_cycles = 100 },
	{ .name = "conv1/1", .exec_type = 3, .duration_ns = 1000 },
};

TEST(items_have_their_fields)
{
	struct npu_layer layer;
	ck_assert(layer_decode(1, (const void *)&layers_of_model[0], LAYER_SIZE, &layer));
	ck_assert_str_eq(layer.name, "conv1");
	ck_assert_str_eq(layer.type, "Convolution");
	ck_assert(!layer.is_task && layer.was_executed);
	ck_assert_uint_eq(layer.duration, 6000);
	ck_assert_uint_eq(layer.parts[LAYER_PART_DPU], 3000);
	ck_assert_uint_eq(layer.parts[LAYER_PART_SW], 0);
	ck_assert_uint_eq(layer.parts[LAYER_PART_DMA], 1000);
	ck_assert(layer_decode(1, (const void *)&layers_of_model[1], LAYER_SIZE, &layer) && !layer.was_executed);
	ck_assert(layer_decode(2, (const void *)&tasks_of_model[0], TASK_SIZE, &layer));
	ck_assert(layer.is_task && layer.part == LAYER_PART_DPU);
	ck_assert_uint_eq(layer_stall_time(&layer), 1000);
	ck_assert(layer_decode(2, (const void *)&tasks_of_model[1], TASK_SIZE, &layer) && layer.part == LAYER_PART_DMA);
	ck_assert_uint_eq(layer_stall_time(&layer), 0);
}

TEST(other_bytes_are_no_items)
{
	struct layer_info info = layers_of_model[0];
	struct npu_layer layer;
	ck_assert(!layer_decode(1, (const void *)&info, LAYER_SIZE - 1, &layer));
	ck_assert(!layer_decode(2, (const void *)&info, TASK_SIZE - 1, &layer));
	ck_assert(!layer_decode(4, (const void *)&info, LAYER_SIZE, &layer));
	info.name[0] = '\0';
	ck_assert(!layer_decode(1, (const void *)&info, LAYER_SIZE, &layer));
	memset(info.name, 'x', sizeof info.name);
	info.name[1] = '\n';
	ck_assert(layer_decode(1, (const void *)&info, LAYER_SIZE, &layer));
	ck_assert_uint_eq(strlen(layer.name), 255);
	ck_assert_int_eq(layer.name[1], '?');
}

/* What the records say: names by id, nodes, and the sums of each node. */
static char texts[64][300];
static uint32_t text_count, value_types, node_names[64], node_parents[64], function_names[64];
static uint64_t counts[64], own_times[64], lost_count;
static char failure[512];

static uint32_t intern_string(const struct iaprof_host *host, const char *string, size_t length)
{
	for (uint32_t i = 1; i <= text_count; i++)
		if (strlen(texts[i]) == length && !memcmp(texts[i], string, length))
			return i;
	ck_assert_uint_lt(text_count, 63);
	snprintf(texts[++text_count], sizeof texts[0], "%.*s", (int)length, string);
	return text_count;
}

static int emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		const struct iaprof_record_call_function *function = (const void *)record;
		const struct iaprof_record_call_node *node = (const void *)record;
		const struct iaprof_record_call *call = (const void *)record;
		if (record->type == IAPROF_RECORD_CALL_FUNCTION) {
			function_names[function->id] = function->name;
		} else if (record->type == IAPROF_RECORD_CALL_NODE) {
			node_names[node->id] = function_names[node->function];
			node_parents[node->id] = node->parent;
		} else if (record->type == IAPROF_RECORD_CALL) {
			ck_assert_uint_eq(call->pid, (uint32_t)getpid());
			ck_assert_uint_gt(call->time_type, 2);
			ck_assert_uint_gt(call->count_type, call->time_type);
			counts[call->node] += call->count;
			own_times[call->node] += call->self_duration;
		}
	}
	return 0;
}

static uint64_t clock_now(const struct iaprof_host *host)
{
	return clock_monotonic();
}

static void log_nothing(const struct iaprof_host *host, int level, const char *format, ...)
{
	(void)host, (void)level, (void)format;
}

static __attribute__((format(printf, 3, 4))) int fail_with(const struct iaprof_host *host, int error,
							   const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(failure, sizeof failure, format, arguments);
	va_end(arguments);
	return error < 0 ? error : -error;
}

static uint32_t declare_value_type(const struct iaprof_host *host, const char *name, const char *unit, uint64_t period)
{
	(void)host, (void)name, (void)unit, (void)period;
	return ++value_types;
}

static void lost(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count, uint32_t type,
		 uint64_t value)
{
	(void)host, (void)reason, (void)begin, (void)type, (void)value;
	lost_count += count;
}

static const struct iaprof_target *target(const struct iaprof_host *host)
{
	static const struct iaprof_target system = { .scope = IAPROF_SCOPE_SYSTEM };
	return &system;
}

static const struct iaprof_host host = { .size = sizeof host,
					 .clock = clock_now,
					 .log = log_nothing,
					 .fail = fail_with,
					 .emit = emit,
					 .intern_string = intern_string,
					 .declare_value_type = declare_value_type,
					 .lost = lost,
					 .target = target };

/* As pfnProfilingQueryGetData: without data, it returns the size. */
__attribute__((noinline)) int get_data(void *query, int type, uint32_t *size, void *data);
int get_data(void *query, int type, uint32_t *size, void *data)
{
	const void *from = type == 1 ? (const void *)layers_of_model : (const void *)tasks_of_model;
	__asm__ volatile("");
	*size = type == 1 ? sizeof layers_of_model : type == 2 ? sizeof tasks_of_model : 16;
	if (data)
		memcpy(data, from, *size);
	return query ? 0 : 0x78000004;
}

/* As pfnProfilingPoolCreate and pfnProfilingQueryCreate. */
__attribute__((noinline)) int pool_create(void *graph, uint32_t count, void **pool);
int pool_create(void *graph, uint32_t count, void **pool)
{
	__asm__ volatile("");
	*pool = graph ? (char *)graph + count : NULL;
	return graph ? 0 : 0x78000004;
}

__attribute__((noinline)) int query_create(void *pool, uint32_t index, void **query);
int query_create(void *pool, uint32_t index, void **query)
{
	__asm__ volatile("");
	*query = (char *)pool + 100 + index;
	return 0;
}

/* Returns the offset of a function in this program's file. */
static uint64_t offset_find(uintptr_t function)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t address = (uint64_t)function, offset = 0;
	char line[512];
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof line, maps)) {
		unsigned long start, end, file_offset;
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &file_offset) == 3 && address >= start &&
		    address < end)
			offset = address - start + file_offset;
	}
	fclose(maps);
	ck_assert_uint_ne(offset, 0);
	return offset;
}

/* Returns the own time of a node by the names of its path, and sets *count. */
static uint64_t time_of(const char *leaf, const char *parent, uint64_t *count)
{
	uint64_t sum = 0;
	*count = 0;
	for (uint32_t i = 1; i < 64; i++)
		if (node_names[i] && !strcmp(texts[node_names[i]], leaf) && node_parents[i] &&
		    !strcmp(texts[node_names[node_parents[i]]], parent)) {
			sum += own_times[i];
			*count += counts[i];
		}
	return sum;
}

static void expect(const char *parent, const char *leaf, uint64_t time, uint64_t runs)
{
	uint64_t count, sum = time_of(leaf, parent, &count);
	ck_assert_msg(sum == time && count == runs, "%s;%s: %lu ns in %lu runs", parent, leaf, (unsigned long)sum,
		      (unsigned long)count);
}

static void ask(int type, void *query)
{
	uint32_t size = 0;
	ck_assert_int_eq(get_data(query, type, &size, NULL), 0);
	char *data = calloc(1, size);
	ck_assert_ptr_nonnull(data);
	ck_assert_int_eq(get_data(query, type, &size, data), 0);
	/* One that fails has no data. */
	ck_assert_int_ne(get_data(NULL, type, &size, data), 0);
	free(data);
}

TEST(a_program_that_asks_is_seen)
{
	static struct layers layers;
	static struct call_records records;
	struct stat status;
	int query; /* of no known model */
	ck_assert_int_eq(call_records_init(&records, &host), 0);
	int result = layers_prepare(&layers, &host, &records);
	if (result == -EPERM || result == -EACCES) {
		printf("# skipped: %s\n", failure);
		return;
	}
	ck_assert_msg(result == 0, "%s", failure);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fstat(file, &status), 0);
	ck_assert_int_eq(layers_start(&layers), 0);
	const struct layer_functions functions = { .pool_create = offset_find((uintptr_t)pool_create),
						   .query_create = offset_find((uintptr_t)query_create),
						   .get_data = offset_find((uintptr_t)get_data) };
	ck_assert_int_eq(layers_attach(&layers, file, status.st_dev, status.st_ino, &functions), 0);
	ck_assert_int_eq(layers_attach(&layers, file, status.st_dev, status.st_ino, &functions), 0);
	ck_assert_uint_eq(layers.file_count, 1);
	for (int i = 0; i < 3; i++) {
		ask(1, &query);
		ask(2, &query);
		ask(4, &query);
	}
	ck_assert_int_eq(layers_turn(&layers), 0);
	ck_assert_uint_eq(lost_count, 0);
	ck_assert_uint_eq(layers.items, 3 * (2 + 2));
	/* Three inferences. Engines share 6 us as 3 to 1. */
	expect("[NPU layers]", "conv1", 0, 3);
	expect("conv1", "DPU", 3 * 4500, 3);
	expect("conv1", "DMA", 3 * 1500, 3);
	expect("softmax", "SW", 3 * 2000, 3);
	expect("[NPU layers]", "relu1", 0, 0);
	expect("conv1/0", "DPU", 3 * 3000, 3);
	expect("DPU", "[stalled]", 3 * 1000, 3);
	expect("conv1/1", "DMA", 3 * 1000, 3);
	/* Of two models, whose queries are of pools of their own; a pool that fails is none. */
	void *pools[2], *queries[2], *none = NULL;
	static char graphs[2][1000];
	ck_assert_int_ne(pool_create(NULL, 1, &none), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pool_create(graphs[i], 7, &pools[i]), 0);
		ck_assert_int_eq(query_create(pools[i], 0, &queries[i]), 0);
	}
	for (int i = 0; i < 5; i++)
		ask(1, queries[i == 0]);
	ck_assert_int_eq(layers_turn(&layers), 0);
	ck_assert_uint_eq(lost_count, 0);
	expect("[NPU layers]", "conv1", 0, 3);
	expect("model 1", "softmax", 0, 1);
	expect("model 2", "softmax", 0, 4);
	expect("[NPU layers]", "model 1", 0, 0);
	layers_free(&layers);
	ask(1, &query);
	close(file);
	call_records_free(&records);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
