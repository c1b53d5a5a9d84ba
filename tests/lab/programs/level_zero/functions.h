/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Level Zero as the stand-ins for its libraries have them: what is not looked at is any pointer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

/* ze_result_t */
#define ZE_RESULT_SUCCESS 0
#define ZE_RESULT_ERROR_UNKNOWN 0x7ffffffe

typedef int ze_init(uint32_t flags);
typedef int ze_mem_alloc_host(void *context, const void *description, size_t size, size_t alignment, void **memory);
typedef int ze_command_queue_create(void *context, void *device, const void *description, void **queue);
typedef int ze_command_list_create(void *context, void *device, const void *description, void **list);
typedef int ze_command_queue_execute_command_lists(void *queue, uint32_t count, void **lists, void *fence);
typedef int ze_fence_host_synchronize(void *fence, uint64_t timeout);
typedef int ze_event_host_synchronize(void *event, uint64_t timeout);

typedef int ze_driver_get_extension_function_address(void *driver, const char *name, void **address);
typedef int ze_graph_create_2(void *context, void *device, const void *description, void **graph);
typedef int ze_append_graph_execute(void *list, void *graph, void *query, void *event, uint32_t count, void **events);

/* Of ze_graph_dditable_ext_t, version 1.8: the functions that are called here have their places. */
#define GRAPH_TABLE_SIZE 23
struct graph_table {
	void *functions[GRAPH_TABLE_SIZE];
};
#define GRAPH_APPEND_EXECUTE 6
#define GRAPH_CREATE_2 16

/* Of ze_graph_profiling_dditable_ext_t, version 1.0. */
typedef int ze_profiling_pool_create(void *graph, uint32_t count, void **pool);
typedef int ze_profiling_query_create(void *pool, uint32_t index, void **query);
typedef int ze_profiling_query_get_data(void *query, int type, uint32_t *size, void *data);
#define PROFILING_TABLE_SIZE 7
struct profiling_table {
	void *functions[PROFILING_TABLE_SIZE];
};
#define PROFILING_POOL_CREATE 0
#define PROFILING_QUERY_CREATE 2
#define PROFILING_GET_DATA 4
#define PROFILING_LAYERS 1
#define PROFILING_TASKS 2
struct profiling_layer {
	char name[256], type[50];
	uint32_t status; /* 3: executed */
	uint64_t start, duration;
	uint32_t id;
	uint64_t fused, dpu, sw, dma;
};
struct profiling_task {
	char name[256], type[50];
	uint32_t engine; /* 1: DPU, 2: SW, 3: DMA */
	uint64_t start, duration;
	uint32_t active_cycles, stall_cycles, id, layer;
};

EXPORTED ze_driver_get_extension_function_address zeDriverGetExtensionFunctionAddress;
EXPORTED int zeGetDriverProcAddrTable(uint32_t version, void *table);
EXPORTED ze_init zeInit;
EXPORTED ze_mem_alloc_host zeMemAllocHost;
EXPORTED ze_command_queue_create zeCommandQueueCreate;
EXPORTED ze_command_list_create zeCommandListCreate;
EXPORTED ze_command_queue_execute_command_lists zeCommandQueueExecuteCommandLists;
EXPORTED ze_fence_host_synchronize zeFenceHostSynchronize;
EXPORTED ze_event_host_synchronize zeEventHostSynchronize;
