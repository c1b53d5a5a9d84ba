// SPDX-License-Identifier: Apache-2.0
/* A stand-in for the NPU's driver in user space: makes the requests that belong to each function of Level Zero. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../npu_uapi.h"
#include "functions.h"

#define DEVICE "/dev/accel/accel0"
#define BUFFERS_MAX 16u

static int device = -1;
static uint32_t buffers[BUFFERS_MAX], buffer_count;

static int request(unsigned long number, void *argument)
{
	int result;

	do
		result = ioctl(device, number, argument);
	while (result < 0 && (errno == EINTR || errno == EAGAIN));
	return result < 0 ? ZE_RESULT_ERROR_UNKNOWN : ZE_RESULT_SUCCESS;
}

int zeInit(uint32_t flags)
{
	(void)flags;
	device = open(DEVICE, O_RDWR | O_CLOEXEC);
	return device < 0 ? ZE_RESULT_ERROR_UNKNOWN : ZE_RESULT_SUCCESS;
}

int zeMemAllocHost(void *context, const void *description, size_t size, size_t alignment, void **memory)
{
	struct npu_bo_create argument = { .size = size };

	(void)context, (void)description, (void)alignment;
	if (buffer_count == BUFFERS_MAX || request(NPU_IOCTL_BO_CREATE, &argument))
		return ZE_RESULT_ERROR_UNKNOWN;
	buffers[buffer_count] = argument.handle;
	*memory = &buffers[buffer_count++];
	return ZE_RESULT_SUCCESS;
}

int zeCommandQueueCreate(void *context, void *queue_device, const void *description, void **queue)
{
	struct npu_param argument = { .param = 7 }; /* CONTEXT_ID */

	(void)context, (void)queue_device, (void)description;
	*queue = &device;
	return request(NPU_IOCTL_GET_PARAM, &argument);
}

int zeCommandListCreate(void *context, void *list_device, const void *description, void **list)
{
	(void)context, (void)list_device, (void)description;
	*list = buffers;
	return ZE_RESULT_SUCCESS;
}

int zeCommandQueueExecuteCommandLists(void *queue, uint32_t count, void **lists, void *fence)
{
	struct npu_submit argument = { .buffers_ptr = (uintptr_t)buffers, .buffer_count = buffer_count };

	(void)queue, (void)count, (void)lists, (void)fence;
	return request(NPU_IOCTL_SUBMIT, &argument);
}

int zeFenceHostSynchronize(void *fence, uint64_t timeout)
{
	struct npu_bo_wait argument = { .handle = buffers[0] };
	struct timespec now;

	(void)fence;
	clock_gettime(CLOCK_MONOTONIC, &now);
	argument.timeout_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + (int64_t)timeout;
	return request(NPU_IOCTL_BO_WAIT, &argument);
}

/* Of an event that never comes. */
int zeEventHostSynchronize(void *event, uint64_t timeout)
{
	(void)event, (void)timeout;
	for (;;)
		pause();
}

/* Unlike in the library's symbols, and each of them another one: nothing else is told apart by its address. */
#define UNUSED_GRAPH_FUNCTION(number)                                                                                  \
	static int graph_unused_##number(void)                                                                         \
	{                                                                                                              \
		return ZE_RESULT_ERROR_UNKNOWN - (number);                                                             \
	}
UNUSED_GRAPH_FUNCTION(0)
UNUSED_GRAPH_FUNCTION(1)
UNUSED_GRAPH_FUNCTION(2)
UNUSED_GRAPH_FUNCTION(3)
UNUSED_GRAPH_FUNCTION(4)
UNUSED_GRAPH_FUNCTION(5)
UNUSED_GRAPH_FUNCTION(7)
UNUSED_GRAPH_FUNCTION(8)
UNUSED_GRAPH_FUNCTION(9)
UNUSED_GRAPH_FUNCTION(10)
UNUSED_GRAPH_FUNCTION(11)
UNUSED_GRAPH_FUNCTION(12)
UNUSED_GRAPH_FUNCTION(13)
UNUSED_GRAPH_FUNCTION(14)
UNUSED_GRAPH_FUNCTION(15)

/* Compiling a model takes a buffer. */
static int graph_create_2(void *context, void *graph_device, const void *description, void **graph)
{
	struct npu_bo_create argument = { .size = 65536 };

	(void)context, (void)graph_device, (void)description;
	*graph = buffers;
	return request(NPU_IOCTL_BO_CREATE, &argument);
}

static int append_graph_execute(void *list, void *graph, void *query, void *event, uint32_t count, void **events)
{
	(void)list, (void)graph, (void)query, (void)event, (void)count, (void)events;
	return ZE_RESULT_SUCCESS;
}

/* Of version 1.5: what an older driver does not have is not there. */
static struct graph_table graph_table = { {
	graph_unused_0,
	graph_unused_1,
	graph_unused_2,
	graph_unused_3,
	graph_unused_4,
	graph_unused_5,
	append_graph_execute,
	graph_unused_7,
	graph_unused_8,
	graph_unused_9,
	graph_unused_10,
	graph_unused_11,
	graph_unused_12,
	graph_unused_13,
	graph_unused_14,
	graph_unused_15,
	graph_create_2,
} };

/* A model of two layers, one of which waits for memory in a quarter of its time. */
static const struct profiling_layer layers[] = {
	{ .name = "conv1", .type = "Convolution", .status = 3, .duration = 6000, .dpu = 3000, .dma = 1000 },
	{ .name = "softmax", .type = "Softmax", .status = 3, .duration = 2000, .sw = 500 },
};
static const struct profiling_task tasks[] = {
	{ .name = "conv1/0", .engine = 1, .duration = 4000, .active_cycles = 300, .stall_cycles = 100 },
};

static int profiling_query_get_data(void *query, int type, uint32_t *size, void *data)
{
	const void *from = type == PROFILING_TASKS ? (const void *)tasks : (const void *)layers;

	(void)query;
	*size = type == PROFILING_TASKS ? sizeof tasks : sizeof layers;
	if (data)
		memcpy(data, from, *size);
	return ZE_RESULT_SUCCESS;
}

/* A pool has the address after its graph's, and a query the next one. */
static int profiling_pool_create(void *graph, uint32_t count, void **pool)
{
	*pool = (char *)graph + count;
	return ZE_RESULT_SUCCESS;
}

static int profiling_query_create(void *pool, uint32_t index, void **query)
{
	*query = (char *)pool + index + 1;
	return ZE_RESULT_SUCCESS;
}

static struct profiling_table profiling_table = { {
	profiling_pool_create,
	graph_unused_1,
	profiling_query_create,
	graph_unused_3,
	profiling_query_get_data,
	graph_unused_4,
} };

int zeDriverGetExtensionFunctionAddress(void *driver, const char *name, void **address)
{
	(void)driver;
	if (!strcmp(name, "ZE_extension_profiling_data")) {
		*address = &profiling_table;
		return ZE_RESULT_SUCCESS;
	}
	if (strcmp(name, "ZE_extension_graph_1_5") != 0)
		return ZE_RESULT_ERROR_UNKNOWN;
	*address = &graph_table;
	return ZE_RESULT_SUCCESS;
}

/* By which the loader knows a driver. */
int zeGetDriverProcAddrTable(uint32_t version, void *table)
{
	(void)version, (void)table;
	return ZE_RESULT_ERROR_UNKNOWN;
}
