/* SPDX-License-Identifier: Apache-2.0 */
/* See stand_in.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti.h"
#include "stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define MODULES_MAX 16
#define KERNELS_MAX 64
#define NODES_MAX 16
#define GRAPH 77u
/* Ids of nodes, and of their clones in the executable graph. */
#define NODE_ID 500u
#define CLONE_ID 600u
#define REASON_WAITS 7u
#define REASON_SELECTED 3u
#define REASON_COUNT 2u
#define FROM_HOST_ASYNC 277 /* cuMemcpyHtoDAsync_v2 */
#define INVALID 1
#define NOT_ENABLED 2
#define MAX_LIMIT_REACHED 12
/* Between its clock and CLOCK_MONOTONIC. */
#define CLOCK_DIFFERENCE 123456789012ull
#define RECORD_SIZE 208u

struct module {
	const void *cubin;
	size_t size;
	uint64_t crc;
};

struct counted {
	uint32_t module;
	const char *name;
	uint64_t launches;
};

struct executed {
	const char *name; /* NULL: a copy */
	uint64_t begin, end;
	uint32_t correlation, graph;
	uint64_t node;
	struct stand_in_transfer transfer;
};

struct node {
	const char *kernel; /* NULL: a copy */
	struct stand_in_transfer transfer;
};

static struct {
	pthread_mutex_t lock;
	cupti_request_buffer *request;
	cupti_complete_buffer *complete;
	bool has_activity;
	uint32_t copy_activity;    /* bit n: CUPTI's kind n */
	struct executed *executed; /* not reported yet */
	size_t executed_count, executed_room;
	uint64_t busy_since, busy_until; /* of the last execution */
	uint32_t correlation;
	cupti_callback *callback;
	void *data;
	bool is_enabled;
	bool has_launches;  /* callbacks for launches are on */
	bool has_copies;    /* callbacks for copies on the device are on */
	bool has_transfers; /* for those from the host */
	bool has_buffer;
	bool has_graphs, has_nodes, has_clones; /* callbacks for graphs are on */
	bool is_capturing;
	struct node nodes[NODES_MAX];
	uint32_t node_count;
	bool yields, has_helper;
	uint32_t inside; /* threads within a call */
	uint64_t copies; /* whose samples were not read yet */
	struct module modules[MODULES_MAX];
	uint32_t module_count;
	struct counted kernels[KERNELS_MAX];
	size_t kernel_count, next;
} stand_in = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int fails(const char *function)
{
	const char *wanted = getenv("STAND_IN_FAILS");
	size_t length = strlen(function);
	return wanted && strncmp(wanted, function, length) == 0 && wanted[length] == ':' ? atoi(wanted + length + 1)
											 : 0;
}
#define FAIL_IF_WANTED()                                                                                               \
	do {                                                                                                           \
		int error_ = fails(__func__);                                                                          \
		if (error_)                                                                                            \
			return error_;                                                                                 \
	} while (0)

static uint64_t crc_of(const void *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
	return hash;
}

EXPORT int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback *callback, void *data)
{
	FAIL_IF_WANTED();
	if (stand_in.callback)
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	stand_in.callback = callback;
	stand_in.data = data;
	*subscriber = (cupti_subscriber)&stand_in;
	return CUPTI_OK;
}

EXPORT int cuptiUnsubscribe(cupti_subscriber subscriber)
{
	(void)subscriber;
	stand_in.callback = NULL;
	stand_in.has_launches = stand_in.has_copies = stand_in.has_transfers = stand_in.has_graphs = false;
	stand_in.has_nodes = stand_in.has_clones = false;
	return CUPTI_OK;
}

EXPORT int cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	FAIL_IF_WANTED();
	/* CUPTI 13 would not call these threads back any more. */
	if (domain == CUPTI_DOMAIN_DRIVER && !enable && __atomic_load_n(&stand_in.inside, __ATOMIC_RELAXED))
		abort();
	if (domain == CUPTI_DOMAIN_DRIVER && id == CUPTI_LAUNCH_KERNEL)
		__atomic_store_n(&stand_in.has_launches, enable, __ATOMIC_RELAXED);
	if (domain == CUPTI_DOMAIN_DRIVER && id == CUPTI_COPY_ON_DEVICE_ASYNC)
		__atomic_store_n(&stand_in.has_copies, enable, __ATOMIC_RELAXED);
	if (domain == CUPTI_DOMAIN_DRIVER && id == FROM_HOST_ASYNC)
		__atomic_store_n(&stand_in.has_transfers, enable, __ATOMIC_RELAXED);
	if (domain == CUPTI_DOMAIN_DRIVER && id == CUPTI_GRAPH_LAUNCH)
		__atomic_store_n(&stand_in.has_graphs, enable, __ATOMIC_RELAXED);
	if (domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_GRAPH_NODE_CREATED)
		__atomic_store_n(&stand_in.has_nodes, enable, __ATOMIC_RELAXED);
	if (domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_GRAPH_NODE_CLONED)
		__atomic_store_n(&stand_in.has_clones, enable, __ATOMIC_RELAXED);
	return CUPTI_OK;
}

EXPORT int cuptiGetDeviceId(cupti_context context, uint32_t *device)
{
	(void)context;
	FAIL_IF_WANTED();
	*device = 0;
	return CUPTI_OK;
}

EXPORT int cuptiPCSamplingEnable(struct cupti_of_context *parameters)
{
	FAIL_IF_WANTED();
	if (parameters->size != sizeof *parameters || stand_in.is_enabled)
		return INVALID;
	stand_in.is_enabled = true;
	return CUPTI_OK;
}

EXPORT int cuptiPCSamplingDisable(struct cupti_of_context *parameters)
{
	FAIL_IF_WANTED();
	(void)parameters;
	stand_in.is_enabled = false;
	return CUPTI_OK;
}

EXPORT int cuptiPCSamplingSetConfigurationAttribute(struct cupti_configuration *parameters)
{
	FAIL_IF_WANTED();
	for (size_t i = 0; i < parameters->count; i++)
		stand_in.has_buffer |= parameters->attributes[i].type == CUPTI_ATTRIBUTE_BUFFER;
	return stand_in.is_enabled && stand_in.has_buffer ? CUPTI_OK : INVALID;
}

EXPORT int cuptiPCSamplingGetNumStallReasons(struct cupti_reason_count *parameters)
{
	FAIL_IF_WANTED();
	*parameters->count = stand_in.is_enabled ? REASON_COUNT : 0;
	return CUPTI_OK;
}

EXPORT int cuptiPCSamplingGetStallReasons(struct cupti_reason_names *parameters)
{
	FAIL_IF_WANTED();
	if (parameters->count < REASON_COUNT)
		return INVALID;
	parameters->indexes[0] = REASON_SELECTED;
	parameters->indexes[1] = REASON_WAITS;
	strcpy(parameters->names[0], "smsp__pcsamp_warps_issue_stalled_selected");
	strcpy(parameters->names[1], "smsp__pcsamp_warps_issue_stalled_long_scoreboard");
	return CUPTI_OK;
}

EXPORT int cuptiGetCubinCrc(struct cupti_crc *parameters)
{
	FAIL_IF_WANTED();
	parameters->crc = crc_of(parameters->cubin, parameters->cubin_size);
	return CUPTI_OK;
}

static void fill(struct cupti_pc *pc, const struct counted *kernel, uint64_t offset)
{
	bool is_helper = offset && stand_in.has_helper && strcmp(kernel->name, "scale") == 0;
	pc->cubin_crc = stand_in.modules[kernel->module].crc;
	pc->offset = is_helper ? offset - STAND_IN_STEP : offset;
	pc->function = is_helper ? STAND_IN_HELPER : (char *)kernel->name;
	pc->stall_count = REASON_COUNT;
	pc->stalls[0] = (struct cupti_stall){ REASON_SELECTED, (uint32_t)kernel->launches };
	pc->stalls[1] = (struct cupti_stall){ REASON_WAITS, (uint32_t)kernel->launches * STAND_IN_WAITS };
}

EXPORT int cuptiPCSamplingGetData(struct cupti_get_data *parameters)
{
	struct cupti_pc_data *data = parameters->data;
	const char *wanted = getenv("STAND_IN_STEP");
	uint64_t step = wanted ? strtoull(wanted, NULL, 0) : STAND_IN_STEP;
	FAIL_IF_WANTED();
	if (!stand_in.is_enabled || parameters->size != sizeof *parameters || data->size != sizeof *data)
		return NOT_ENABLED;
	pthread_mutex_lock(&stand_in.lock);
	data->count = data->remaining = 0;
	data->other_samples = stand_in.copies * STAND_IN_COPY;
	stand_in.copies = 0;
	for (size_t i = 0; i < stand_in.kernel_count; i++) {
		struct counted *kernel = &stand_in.kernels[i];
		for (uint32_t pc = 0; pc < STAND_IN_PCS && kernel->launches; pc++)
			fill(&data->pcs[data->count++], kernel, pc * step);
		kernel->launches = 0;
	}
	pthread_mutex_unlock(&stand_in.lock);
	return CUPTI_OK;
}

static uint64_t read_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + CLOCK_DIFFERENCE;
}

EXPORT int cuptiGetTimestamp(uint64_t *time)
{
	FAIL_IF_WANTED();
	*time = read_clock();
	return CUPTI_OK;
}

EXPORT int cuptiActivityRegisterCallbacks(cupti_request_buffer *request, cupti_complete_buffer *complete)
{
	FAIL_IF_WANTED();
	stand_in.request = request;
	stand_in.complete = complete;
	return CUPTI_OK;
}

EXPORT int cuptiActivityEnable(uint32_t kind)
{
	FAIL_IF_WANTED();
	if (stand_in.is_enabled)
		return CUPTI_NOT_COMPATIBLE;
	stand_in.has_activity |= kind == CUPTI_ACTIVITY_KERNEL;
	if (kind != CUPTI_ACTIVITY_KERNEL && fails("copies"))
		return fails("copies");
	if (kind != CUPTI_ACTIVITY_KERNEL)
		stand_in.copy_activity |= 1u << kind;
	return CUPTI_OK;
}

EXPORT int cuptiActivityDisable(uint32_t kind)
{
	FAIL_IF_WANTED();
	stand_in.has_activity &= kind != CUPTI_ACTIVITY_KERNEL;
	stand_in.copy_activity &= ~(1u << kind);
	return CUPTI_OK;
}

static void add_executed(const struct executed *executed)
{
	if (stand_in.executed_count == stand_in.executed_room) {
		stand_in.executed_room = 2 * stand_in.executed_room + 1024;
		stand_in.executed = realloc(stand_in.executed, stand_in.executed_room * sizeof *stand_in.executed);
		if (!stand_in.executed)
			abort();
	}
	stand_in.executed[stand_in.executed_count] = *executed;
	if (executed->correlation % STAND_IN_UNTIMED == 0)
		stand_in.executed[stand_in.executed_count].begin = 0;
	stand_in.executed_count++;
}

/* An execution begins when the one before it has ended. */
static void execute(const char *name, uint32_t correlation, uint32_t graph, uint64_t node)
{
	uint64_t now = read_clock();
	stand_in.busy_since = now > stand_in.busy_until ? now : stand_in.busy_until;
	stand_in.busy_until = stand_in.busy_since + (strcmp(name, "scale") ? STAND_IN_TIME : STAND_IN_SCALE_TIME);
	if (stand_in.has_activity)
		add_executed(&(struct executed){ .name = name,
						 .begin = stand_in.busy_since,
						 .end = stand_in.busy_until,
						 .correlation = correlation,
						 .graph = graph,
						 .node = node });
}

/* Returns CUPTI's kind of the record of a transfer. */
static uint32_t activity_of(const struct stand_in_transfer *transfer)
{
	return transfer->direction == STAND_IN_SET         ? CUPTI_ACTIVITY_SET
	       : transfer->direction == CUPTI_PEER_TO_PEER ? CUPTI_ACTIVITY_PEER_COPY
							   : CUPTI_ACTIVITY_COPY;
}

/* A copy runs beside the last execution: it begins with it. */
static void transfer(const struct stand_in_transfer *transfer, uint32_t correlation, uint32_t graph, uint64_t node)
{
	if (!stand_in.busy_since)
		stand_in.busy_since = read_clock();
	if (stand_in.copy_activity >> activity_of(transfer) & 1)
		add_executed(&(struct executed){ .begin = stand_in.busy_since,
						 .end = stand_in.busy_since + transfer->time,
						 .correlation = correlation,
						 .graph = graph,
						 .node = node,
						 .transfer = *transfer });
}

/* The records of copies differ in where they have what they have. */
#define WRITE_COPY(TYPE, ...)                                                                                          \
	do {                                                                                                           \
		struct TYPE record_ = { .kind = activity_of(&executed->transfer),                                      \
					.bytes = executed->transfer.bytes,                                             \
					.start = executed->begin,                                                      \
					.end = executed->end,                                                          \
					.correlation = executed->correlation,                                          \
					.graph = executed->graph,                                                      \
					.node = executed->node,                                                        \
					__VA_ARGS__ };                                                                 \
		memcpy(record, &record_, sizeof record_);                                                              \
	} while (0)

static void write_copy(uint8_t *record, const struct executed *executed)
{
	uint8_t direction = (uint8_t)executed->transfer.direction;
	uint8_t host = executed->transfer.is_pageable ? CUPTI_MEMORY_PAGEABLE : 2, device = 3;
	switch (activity_of(&executed->transfer)) {
	case CUPTI_ACTIVITY_SET:
		WRITE_COPY(cupti_set_activity, .memory = device);
		break;
	case CUPTI_ACTIVITY_PEER_COPY:
		WRITE_COPY(cupti_peer_copy_activity, .direction = direction, .from = device, .to = device);
		break;
	default:
		WRITE_COPY(cupti_copy_activity, .direction = direction,
			   .from = direction == CUPTI_HOST_TO_DEVICE ? host : device,
			   .to = direction == CUPTI_DEVICE_TO_HOST ? host : device);
	}
}

static void write_kernel(uint8_t *record, const struct executed *executed)
{
	struct cupti_kernel_activity kernel = { .kind = CUPTI_ACTIVITY_KERNEL,
						.start = executed->begin,
						.end = executed->end,
						.correlation = executed->correlation,
						.graph = executed->graph,
						.node = executed->node,
						.name = executed->name };
	memcpy(record, &kernel, sizeof kernel);
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
	(void)flags;
	FAIL_IF_WANTED();
	pthread_mutex_lock(&stand_in.lock);
	struct executed *executed = stand_in.executed;
	size_t count = stand_in.executed_count, done = 0;
	stand_in.executed = NULL;
	stand_in.executed_count = stand_in.executed_room = 0;
	pthread_mutex_unlock(&stand_in.lock);
	while (done < count) {
		uint8_t *buffer = NULL;
		size_t size = 0, records = 0, used = 0;
		stand_in.request(&buffer, &size, &records);
		if (!buffer)
			break;
		for (; done < count && used + RECORD_SIZE <= size; used += RECORD_SIZE, done++) {
			memset(buffer + used, 0, RECORD_SIZE);
			(executed[done].name ? write_kernel : write_copy)(buffer + used, &executed[done]);
		}
		stand_in.complete(NULL, 0, buffer, size, used);
	}
	free(executed);
	return CUPTI_OK;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, void **record)
{
	FAIL_IF_WANTED();
	uint8_t *next = *record ? (uint8_t *)*record + RECORD_SIZE : buffer;
	if (next + RECORD_SIZE > buffer + used)
		return MAX_LIMIT_REACHED;
	*record = next;
	return CUPTI_OK;
}

EXPORT int cuptiActivityGetNumDroppedRecords(cupti_context context, uint32_t stream, size_t *count)
{
	(void)context, (void)stream;
	FAIL_IF_WANTED();
	*count = 0;
	return CUPTI_OK;
}

static void call_back(uint32_t domain, uint32_t id, const void *parameters)
{
	if (stand_in.callback)
		stand_in.callback(stand_in.data, domain, id, parameters);
}

/* A call of the driver. */
static void create_node(const struct node *made);

/* captured: becomes a node of a graph; or NULL. */
static void call_driver(const bool *has_callbacks, uint32_t id, struct cupti_callback_data *call,
			const struct node *captured)
{
	if (!__atomic_load_n(has_callbacks, __ATOMIC_RELAXED)) {
		if (captured)
			create_node(captured);
		return;
	}
	__atomic_fetch_add(&stand_in.inside, 1, __ATOMIC_RELAXED);
	call->site = CUPTI_SITE_ENTER;
	call_back(CUPTI_DOMAIN_DRIVER, id, call);
	if (captured)
		create_node(captured);
	if (stand_in.yields)
		sched_yield();
	__atomic_fetch_sub(&stand_in.inside, 1, __ATOMIC_RELAXED);
	call->site = CUPTI_SITE_ENTER + 1;
	call_back(CUPTI_DOMAIN_DRIVER, id, call);
}

/* What a program that uses NVTX contains: functions that its library replaces. */
static int push_nothing(const char *name)
{
	(void)name;
	return -2;
}

static int pop_nothing(void)
{
	return -2;
}

static void *ranges[] = { [9] = push_nothing, [11] = pop_nothing };

static int find_table(uint32_t module, void ***table[], unsigned *count)
{
	static void **table_of[] = { [9] = &ranges[9], [11] = &ranges[11] };
	*table = (void ***)table_of;
	*count = sizeof table_of / sizeof *table_of;
	return module == 1;
}

static const void *find_callbacks(uint32_t id)
{
	static const struct {
		size_t size;
		int (*find)(uint32_t module, void ***table[], unsigned *count);
	} callbacks = { sizeof callbacks, find_table };
	return id == 1 ? &callbacks : NULL;
}

static void load_range_library(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*export)(uint32_t)) = NULL;
	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
	if (initialize)
		(void)initialize(find_callbacks);
}

static pthread_once_t range_library = PTHREAD_ONCE_INIT;

EXPORT int stand_in_push(const char *name)
{
	pthread_once(&range_library, load_range_library);
	return ((int (*)(const char *))ranges[9])(name);
}

EXPORT int stand_in_pop(void)
{
	return ((int (*)(void))ranges[11])();
}

EXPORT void stand_in_init(void)
{
	stand_in.yields = getenv("STAND_IN_YIELDS");
	stand_in.has_helper = getenv("STAND_IN_HELPER");
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*initialize)(void) = NULL;
	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize)
		(void)initialize();
}

static void change_context(uint32_t id)
{
	struct cupti_resource_data resource = { .context = (cupti_context)&stand_in };
	call_back(CUPTI_DOMAIN_RESOURCE, id, &resource);
}

EXPORT void stand_in_create_context(void)
{
	change_context(CUPTI_CONTEXT_CREATED);
}

EXPORT void stand_in_destroy_context(void)
{
	change_context(CUPTI_CONTEXT_DESTROY_STARTING);
}

static void change_module(uint32_t number, uint32_t id)
{
	const struct module *module = &stand_in.modules[number];
	struct cupti_module_data data = { .id = number + 1, .size = module->size, .cubin = module->cubin };
	struct cupti_resource_data resource = { .context = (cupti_context)&stand_in, .descriptor = &data };
	call_back(CUPTI_DOMAIN_RESOURCE, id, &resource);
}

EXPORT uint32_t stand_in_load(const void *cubin, size_t size)
{
	uint32_t number = stand_in.module_count++;
	stand_in.modules[number] = (struct module){ cubin, size, crc_of(cubin, size) };
	change_module(number, CUPTI_MODULE_LOADED);
	return number;
}

EXPORT void stand_in_unload(uint32_t module)
{
	change_module(module, CUPTI_MODULE_UNLOAD_STARTING);
}

/* Executes a kernel, with samples. The lock is held. */
static void execute_sampled(uint32_t module, const char *name, uint32_t correlation, uint32_t graph, uint64_t node)
{
	struct counted *kernel = stand_in.kernels;
	while (kernel < stand_in.kernels + stand_in.kernel_count &&
	       (kernel->module != module || strcmp(kernel->name, name) != 0))
		kernel++;
	if (kernel == stand_in.kernels + stand_in.kernel_count)
		*kernel = (struct counted){ .module = module, .name = name };
	stand_in.kernel_count += kernel == stand_in.kernels + stand_in.kernel_count;
	kernel->launches++;
	execute(name, correlation, graph, node);
}

EXPORT void stand_in_launch(uint32_t module, const char *name)
{
	struct cupti_callback_data call = { .function = "cuLaunchKernel",
					    .symbol = name,
					    .context = (cupti_context)&stand_in,
					    .correlation =
						    __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED) };
	call_driver(&stand_in.has_launches, CUPTI_LAUNCH_KERNEL, &call,
		    stand_in.is_capturing ? &(struct node){ .kernel = name } : NULL);
	if (stand_in.is_capturing)
		return;
	pthread_mutex_lock(&stand_in.lock);
	execute_sampled(module, name, call.correlation, 0, 0);
	pthread_mutex_unlock(&stand_in.lock);
}

EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	FAIL_IF_WANTED();
	*id = (uintptr_t)node;
	return CUPTI_OK;
}

static void report_node(const bool *is_wanted, uint32_t id, const struct node *made, uintptr_t node, uintptr_t original)
{
	uint32_t type = made->kernel                               ? CUPTI_NODE_KERNEL
			: made->transfer.direction == STAND_IN_SET ? CUPTI_NODE_SET
								   : CUPTI_NODE_COPY;
	struct cupti_graph_data data = { .node = (void *)node, .original_node = (void *)original, .node_type = type };
	struct cupti_resource_data resource = { .context = (cupti_context)&stand_in, .descriptor = &data };
	if (__atomic_load_n(is_wanted, __ATOMIC_RELAXED))
		call_back(CUPTI_DOMAIN_RESOURCE, id, &resource);
}

/* Between the begin and the end of a launch. */
static void create_node(const struct node *made)
{
	if (stand_in.node_count == NODES_MAX)
		return;
	stand_in.nodes[stand_in.node_count] = *made;
	report_node(&stand_in.has_nodes, CUPTI_GRAPH_NODE_CREATED, made, NODE_ID + stand_in.node_count++, 0);
}

/* Makes the executable graph, which has clones of the nodes. */
static void instantiate(void)
{
	for (uint32_t i = 0; i < stand_in.node_count; i++)
		report_node(&stand_in.has_clones, CUPTI_GRAPH_NODE_CLONED, &stand_in.nodes[i], CLONE_ID + i,
			    NODE_ID + i);
}

static void call_graph(uint32_t id, const char *function, uint32_t correlation)
{
	struct cupti_callback_data call = { .function = function,
					    .context = (cupti_context)&stand_in,
					    .correlation = correlation };
	call_driver(&stand_in.has_graphs, id, &call, NULL);
}

EXPORT void stand_in_begin_capture(void)
{
	call_graph(CUPTI_BEGIN_CAPTURE_2, "cuStreamBeginCapture_v2", 0);
	stand_in.is_capturing = true;
	stand_in.node_count = 0;
}

EXPORT void stand_in_end_capture(void)
{
	call_graph(CUPTI_END_CAPTURE, "cuStreamEndCapture", 0);
	stand_in.is_capturing = false;
	instantiate();
}

EXPORT void stand_in_launch_graph(void)
{
	uint32_t correlation = __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED);
	call_graph(CUPTI_GRAPH_LAUNCH, "cuGraphLaunch", correlation);
	pthread_mutex_lock(&stand_in.lock);
	for (uint32_t i = 0; i < stand_in.node_count; i++)
		if (stand_in.nodes[i].kernel)
			execute_sampled(0, stand_in.nodes[i].kernel, correlation, GRAPH, CLONE_ID + i);
		else
			transfer(&stand_in.nodes[i].transfer, correlation, GRAPH, CLONE_ID + i);
	pthread_mutex_unlock(&stand_in.lock);
}

EXPORT void stand_in_copy(size_t size)
{
	struct stand_in_transfer copied = { .direction = CUPTI_DEVICE_TO_DEVICE,
					    .bytes = size,
					    .time = STAND_IN_COPY_TIME };
	struct cupti_memory_call copy = { .count = size };
	struct cupti_callback_data call = { .function = "cuMemcpyDtoDAsync_v2",
					    .parameters = &copy,
					    .context = (cupti_context)&stand_in,
					    .correlation =
						    __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED) };
	call_driver(&stand_in.has_copies, CUPTI_COPY_ON_DEVICE_ASYNC, &call, NULL);
	pthread_mutex_lock(&stand_in.lock);
	stand_in.copies++;
	transfer(&copied, call.correlation, 0, 0);
	pthread_mutex_unlock(&stand_in.lock);
}

EXPORT void stand_in_transfer(const struct stand_in_transfer *copied)
{
	struct cupti_callback_data call = { .function = "cuMemcpyHtoDAsync_v2",
					    .context = (cupti_context)&stand_in,
					    .correlation =
						    __atomic_add_fetch(&stand_in.correlation, 1, __ATOMIC_RELAXED) };
	call_driver(&stand_in.has_transfers, FROM_HOST_ASYNC, &call,
		    stand_in.is_capturing ? &(struct node){ .transfer = *copied } : NULL);
	if (stand_in.is_capturing)
		return;
	pthread_mutex_lock(&stand_in.lock);
	transfer(copied, call.correlation, 0, 0);
	pthread_mutex_unlock(&stand_in.lock);
}
