/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes kernels by graphs and command lists that are recorded once: graphs MODULE SOURCE WAY. The functions for
 * graphs are the loader's (SOURCE loader) or the driver's own (SOURCE driver). On standard output a line "executed
 * KERNEL N" for each kernel; every launch has the function launch_here on its stack.
 */
#include <level_zero/ze_api.h>

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../one_module.h"

#define FUNCTION __attribute__((noipa)) static
#define EXECUTIONS 10

enum kernel { TINY, SOFTMAX, KERNEL_COUNT };
static const char *const kernel_names[] = { "tiny", "softmax_row" };
static _Atomic unsigned executed[KERNEL_COUNT];

static void *buffer;

/* Functions of the driver: as in the specification, but pNext comes last. */
typedef ze_result_t end_exp(ze_command_list_handle_t list, ze_graph_handle_t *graph, void *next);
typedef ze_result_t instantiate_exp(ze_graph_handle_t graph, ze_executable_graph_handle_t *executable, void *next);
static end_exp *end_of_driver;
static instantiate_exp *instantiate_of_driver;

static ze_result_t end_by_driver(ze_command_list_handle_t list, const void *next, ze_graph_handle_t *graph)
{
	(void)next;
	return end_of_driver(list, graph, NULL);
}

static ze_result_t instantiate_by_driver(ze_graph_handle_t graph, const void *next,
					 ze_executable_graph_handle_t *executable)
{
	(void)next;
	return instantiate_of_driver(graph, executable, NULL);
}

static struct {
	__typeof__(zeCommandListBeginGraphCaptureExt) *begin;
	__typeof__(zeCommandListBeginCaptureIntoGraphExt) *begin_into;
	__typeof__(zeCommandListEndGraphCaptureExt) *end;
	__typeof__(zeGraphInstantiateExt) *instantiate;
	__typeof__(zeCommandListAppendGraphExt) *append;
	__typeof__(zeGraphDestroyExt) *destroy;
	__typeof__(zeExecutableGraphDestroyExt) *destroy_executable;
} calls = { zeCommandListBeginGraphCaptureExt, zeCommandListBeginCaptureIntoGraphExt,
	    zeCommandListEndGraphCaptureExt,   zeGraphInstantiateExt,
	    zeCommandListAppendGraphExt,       zeGraphDestroyExt,
	    zeExecutableGraphDestroyExt };

static void *driver_function(const char *name)
{
	void *function = NULL;

	CHECK(zeDriverGetExtensionFunctionAddress(driver, name, &function));
	return function;
}

static void calls_of_driver(void)
{
	calls.begin = (__typeof__(calls.begin))driver_function("zeCommandListBeginGraphCaptureExp");
	calls.begin_into = (__typeof__(calls.begin_into))driver_function("zeCommandListBeginCaptureIntoGraphExp");
	end_of_driver = (end_exp *)driver_function("zeCommandListEndGraphCaptureExp");
	calls.end = end_by_driver;
	instantiate_of_driver = (instantiate_exp *)driver_function("zeCommandListInstantiateGraphExp");
	calls.instantiate = instantiate_by_driver;
	calls.append = (__typeof__(calls.append))driver_function("zeCommandListAppendGraphExp");
	calls.destroy = (__typeof__(calls.destroy))driver_function("zeGraphDestroyExp");
	calls.destroy_executable = (__typeof__(calls.destroy_executable))driver_function("zeExecutableGraphDestroyExp");
}

/* One thread's objects: lists, events and kernels must not be shared. */
struct launcher {
	ze_command_list_handle_t lists[3]; /* immediate */
	ze_event_handle_t events[4];
	ze_kernel_handle_t kernels[KERNEL_COUNT];
};

static void kernel_open(struct launcher *launcher, enum kernel kernel)
{
	ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel_names[kernel] };
	ze_kernel_handle_t *handle = &launcher->kernels[kernel];
	int columns = 16;

	CHECK(zeKernelCreate(module, &description, handle));
	CHECK(zeKernelSetGroupSize(*handle, kernel == TINY ? 1 : 32, 1, 1));
	CHECK(zeKernelSetArgumentValue(*handle, 0, sizeof buffer, &buffer));
	if (kernel == SOFTMAX)
		CHECK(zeKernelSetArgumentValue(*handle, 1, sizeof columns, &columns));
}

static void launcher_open(struct launcher *launcher)
{
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
					  .flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER };
	ze_event_pool_desc_t pool_description = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 4 };
	ze_event_pool_handle_t pool;

	for (unsigned i = 0; i < 3; i++)
		CHECK(zeCommandListCreateImmediate(context, device, &queue, &launcher->lists[i]));
	CHECK(zeEventPoolCreate(context, &pool_description, 1, &device, &pool));
	for (uint32_t i = 0; i < 4; i++) {
		ze_event_desc_t event = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i };

		CHECK(zeEventCreate(pool, &event, &launcher->events[i]));
	}
	for (enum kernel i = 0; i < KERNEL_COUNT; i++)
		kernel_open(launcher, i);
}

FUNCTION void launch_here(struct launcher *launcher, ze_command_list_handle_t list, enum kernel kernel,
			  ze_event_handle_t signal, ze_event_handle_t wait)
{
	static const ze_group_count_t group = { 1, 1, 1 };

	CHECK(zeCommandListAppendLaunchKernel(list, launcher->kernels[kernel], &group, signal, wait ? 1 : 0,
					      wait ? &wait : NULL));
}

/* Captures two launches of tiny and one of softmax. */
static ze_graph_handle_t capture(struct launcher *launcher)
{
	ze_command_list_handle_t list = launcher->lists[0];
	ze_graph_handle_t graph;

	CHECK(calls.begin(list, NULL));
	launch_here(launcher, list, TINY, NULL, NULL);
	launch_here(launcher, list, SOFTMAX, NULL, NULL);
	launch_here(launcher, list, TINY, NULL, NULL);
	CHECK(calls.end(list, NULL, &graph));
	return graph;
}

static void captured_ran(unsigned times)
{
	executed[TINY] += 2 * times;
	executed[SOFTMAX] += times;
}

static ze_executable_graph_handle_t instantiate(ze_graph_handle_t graph)
{
	ze_executable_graph_handle_t executable;

	CHECK(calls.instantiate(graph, NULL, &executable));
	return executable;
}

static void append(ze_command_list_handle_t list, ze_executable_graph_handle_t executable, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		CHECK(calls.append(list, executable, NULL, NULL, 0, NULL));
}

FUNCTION void way_simple(struct launcher *launcher)
{
	ze_graph_handle_t graph = capture(launcher);
	ze_executable_graph_handle_t executable = instantiate(graph);

	append(launcher->lists[0], executable, EXECUTIONS);
	captured_ran(EXECUTIONS);
	/* The list executes again what is appended to it. */
	launch_here(launcher, launcher->lists[0], SOFTMAX, NULL, NULL);
	executed[SOFTMAX]++;
	CHECK(calls.destroy_executable(executable));
	CHECK(calls.destroy(graph));
}

/* Two executables of one graph, which is destroyed first; a graph that is never executed. */
FUNCTION void way_twice(struct launcher *launcher)
{
	capture(launcher);
	ze_graph_handle_t graph = capture(launcher);
	ze_executable_graph_handle_t first = instantiate(graph), second = instantiate(graph);

	append(launcher->lists[0], first, 3);
	append(launcher->lists[1], second, 4);
	CHECK(calls.destroy_executable(first));
	CHECK(calls.destroy(graph));
	/* Often at the address of the one before. */
	graph = capture(launcher);
	first = instantiate(graph);
	append(launcher->lists[0], first, 1);
	append(launcher->lists[0], second, 2);
	captured_ran(10);
}

/* A capture goes on in a second list, which waits for an event of the first one, and from there in a third. */
FUNCTION void way_fork(struct launcher *launcher)
{
	ze_command_list_handle_t *lists = launcher->lists;
	ze_event_handle_t *events = launcher->events;
	ze_graph_handle_t graph;

	CHECK(calls.begin(lists[0], NULL));
	launch_here(launcher, lists[0], TINY, events[0], NULL);
	launch_here(launcher, lists[1], SOFTMAX, events[1], events[0]);
	launch_here(launcher, lists[2], SOFTMAX, events[2], events[1]);
	CHECK(zeCommandListAppendWaitOnEvents(lists[1], 1, &events[2]));
	CHECK(zeCommandListAppendSignalEvent(lists[1], events[3]));
	launch_here(launcher, lists[0], TINY, NULL, events[3]);
	CHECK(calls.end(lists[0], NULL, &graph));
	append(lists[0], instantiate(graph), EXECUTIONS);
	launch_here(launcher, lists[2], SOFTMAX, NULL, NULL);
	executed[TINY] += 2 * EXECUTIONS;
	executed[SOFTMAX] += 2 * EXECUTIONS + 1;
}

/* While one list is captured, another one executes, and a third is captured into a graph that was there before. */
FUNCTION void way_both(struct launcher *launcher)
{
	ze_command_list_handle_t *lists = launcher->lists;
	ze_graph_handle_t graph, second, same;

	CHECK(zeGraphCreateExt(context, NULL, &second));
	CHECK(calls.begin(lists[0], NULL));
	CHECK(calls.begin_into(lists[2], second, NULL));
	launch_here(launcher, lists[0], TINY, NULL, NULL);
	launch_here(launcher, lists[1], SOFTMAX, NULL, NULL);
	launch_here(launcher, lists[2], SOFTMAX, NULL, NULL);
	CHECK(calls.end(lists[0], NULL, &graph));
	launch_here(launcher, lists[2], TINY, NULL, NULL);
	launch_here(launcher, lists[0], SOFTMAX, NULL, NULL);
	CHECK(calls.end(lists[2], NULL, &same));
	append(lists[0], instantiate(graph), 5);
	append(lists[1], instantiate(same), 7);
	executed[TINY] += 5 + 7;
	executed[SOFTMAX] += 1 + 1 + 7;
}

/* A launch during a pause of the capture executes. */
FUNCTION void way_paused(struct launcher *launcher)
{
	typedef ze_result_t change(ze_graph_handle_t graph);
	change *pause_capture = (change *)driver_function("zeGraphPauseCaptureExt");
	change *resume_capture = (change *)driver_function("zeGraphResumeCaptureExt");
	ze_command_list_handle_t list = launcher->lists[0];
	ze_graph_handle_t graph;

	CHECK(calls.begin(list, NULL));
	launch_here(launcher, list, TINY, NULL, NULL);
	CHECK(zeCommandListGetGraphExt(list, &graph));
	CHECK(pause_capture(graph));
	launch_here(launcher, list, SOFTMAX, NULL, NULL);
	CHECK(resume_capture(graph));
	launch_here(launcher, list, TINY, NULL, NULL);
	CHECK(calls.end(list, NULL, &graph));
	append(list, instantiate(graph), EXECUTIONS);
	executed[TINY] += 2 * EXECUTIONS;
	executed[SOFTMAX]++;
}

static ze_command_list_handle_t list_create(const void *next)
{
	ze_command_list_desc_t description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .pNext = next };
	ze_command_list_handle_t list;

	CHECK(zeCommandListCreate(context, device, &description, &list));
	return list;
}

static void list_execute(ze_command_list_handle_t list, unsigned times)
{
	ze_command_queue_desc_t description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_queue_handle_t queue;

	CHECK(zeCommandQueueCreate(context, device, &description, &queue));
	for (unsigned i = 0; i < times; i++)
		CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
}

/* A regular list with a graph in it, and a launch. */
FUNCTION void way_regular(struct launcher *launcher)
{
	ze_executable_graph_handle_t executable = instantiate(capture(launcher));
	ze_command_list_handle_t list = list_create(NULL);

	append(list, executable, 2);
	launch_here(launcher, list, TINY, NULL, NULL);
	CHECK(zeCommandListClose(list));
	list_execute(list, EXECUTIONS);
	CHECK(zeCommandListImmediateAppendCommandListsExp(launcher->lists[1], 1, &list, NULL, 0, NULL));
	captured_ran(2 * (EXECUTIONS + 1));
	executed[TINY] += EXECUTIONS + 1;
	append(launcher->lists[0], executable, 1);
	captured_ran(1);
}

/* A graph in a graph. */
FUNCTION void way_nested(struct launcher *launcher)
{
	ze_command_list_handle_t list = launcher->lists[0];
	ze_executable_graph_handle_t inner = instantiate(capture(launcher));
	ze_graph_handle_t graph;

	CHECK(calls.begin(list, NULL));
	append(list, inner, 2);
	launch_here(launcher, list, SOFTMAX, NULL, NULL);
	CHECK(calls.end(list, NULL, &graph));
	append(list, instantiate(graph), EXECUTIONS);
	captured_ran(2 * EXECUTIONS);
	executed[SOFTMAX] += EXECUTIONS;
}

/* A regular list in a graph. */
FUNCTION void way_list_in_graph(struct launcher *launcher)
{
	ze_command_list_handle_t list = list_create(NULL);
	ze_graph_handle_t graph;

	launch_here(launcher, list, TINY, NULL, NULL);
	launch_here(launcher, list, TINY, NULL, NULL);
	CHECK(zeCommandListClose(list));
	CHECK(calls.begin(launcher->lists[0], NULL));
	CHECK(zeCommandListImmediateAppendCommandListsExp(launcher->lists[0], 1, &list, NULL, 0, NULL));
	launch_here(launcher, launcher->lists[0], SOFTMAX, NULL, NULL);
	CHECK(calls.end(launcher->lists[0], NULL, &graph));
	append(launcher->lists[0], instantiate(graph), EXECUTIONS);
	executed[TINY] += 2 * EXECUTIONS;
	executed[SOFTMAX] += EXECUTIONS;
}

/* A capture with a fork that is not joined is no graph; a list that is not captured has none to end. */
FUNCTION void way_invalid(struct launcher *launcher)
{
	ze_command_list_handle_t *lists = launcher->lists;
	ze_executable_graph_handle_t executable;
	ze_graph_handle_t graph = NULL;

	CHECK(calls.begin(lists[0], NULL));
	launch_here(launcher, lists[0], TINY, launcher->events[0], NULL);
	launch_here(launcher, lists[1], TINY, NULL, launcher->events[0]);
	if (calls.end(lists[2], NULL, &graph) == ZE_RESULT_SUCCESS)
		exit(1);
	if (calls.begin(lists[0], NULL) == ZE_RESULT_SUCCESS)
		exit(1);
	launch_here(launcher, lists[0], TINY, NULL, NULL);
	if (calls.end(lists[0], NULL, &graph) == ZE_RESULT_SUCCESS &&
	    calls.instantiate(graph, NULL, &executable) == ZE_RESULT_SUCCESS)
		exit(1);
	for (unsigned i = 0; i < 3; i++)
		launch_here(launcher, lists[i], SOFTMAX, NULL, NULL);
	executed[SOFTMAX] += 3;
	append(lists[0], instantiate(capture(launcher)), 2);
	captured_ran(2);
}

FUNCTION void way_lists(struct launcher *launcher)
{
	ze_command_list_handle_t list = list_create(NULL);

	for (unsigned round = 0; round < 2; round++) {
		launch_here(launcher, list, TINY, NULL, NULL);
		launch_here(launcher, list, round ? SOFTMAX : TINY, NULL, NULL);
		CHECK(zeCommandListClose(list));
		list_execute(list, EXECUTIONS);
		CHECK(zeCommandListReset(list));
	}
	executed[TINY] += 3 * EXECUTIONS;
	executed[SOFTMAX] += EXECUTIONS;
}

/* Arguments of a launch are changed between executions; its kernel is not. */
FUNCTION void way_mutable(struct launcher *launcher)
{
	ze_mutable_command_list_exp_desc_t is_mutable = { .stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC };
	ze_mutable_command_id_exp_desc_t numbered = { .stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
						      .flags = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS };
	ze_mutable_kernel_argument_exp_desc_t change = { .stype = ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC,
							 .argSize = sizeof buffer,
							 .pArgValue = &buffer };
	ze_mutable_commands_exp_desc_t changes = { .stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMANDS_EXP_DESC,
						   .pNext = &change };
	ze_command_list_handle_t list = list_create(&is_mutable);

	CHECK(zeCommandListGetNextCommandIdExp(list, &numbered, &change.commandId));
	launch_here(launcher, list, TINY, NULL, NULL);
	launch_here(launcher, list, SOFTMAX, NULL, NULL);
	CHECK(zeCommandListClose(list));
	list_execute(list, 3);
	CHECK(zeCommandListUpdateMutableCommandsExp(list, &changes));
	CHECK(zeCommandListClose(list));
	list_execute(list, 4);
	executed[TINY] += 7;
	executed[SOFTMAX] += 7;
}

/* The kernel of a launch may be changed: 26.27 crashes without a GPU when it has a second one. */
FUNCTION void way_changeable(struct launcher *launcher)
{
	ze_mutable_command_list_exp_desc_t is_mutable = { .stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC };
	ze_mutable_command_id_exp_desc_t numbered = { .stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
						      .flags = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION };
	ze_command_list_handle_t list = list_create(&is_mutable);
	uint64_t command;

	CHECK(zeCommandListGetNextCommandIdWithKernelsExp(list, &numbered, 1, &launcher->kernels[TINY], &command));
	launch_here(launcher, list, TINY, NULL, NULL);
	launch_here(launcher, list, SOFTMAX, NULL, NULL);
	CHECK(zeCommandListClose(list));
	list_execute(list, EXECUTIONS);
	executed[TINY] += EXECUTIONS;
	executed[SOFTMAX] += EXECUTIONS;
}

/* Until standard input ends: a graph from the start, and one that is captured in each turn. */
FUNCTION void way_replay(struct launcher *launcher)
{
	ze_executable_graph_handle_t first = instantiate(capture(launcher));
	struct pollfd input = { .fd = STDIN_FILENO };

	printf("pid %d\n", getpid());
	fflush(stdout);
	while (poll(&input, 1, 5) == 0 || !(input.revents & POLLHUP)) {
		ze_graph_handle_t graph = capture(launcher);
		ze_executable_graph_handle_t executable = instantiate(graph);

		append(launcher->lists[0], first, 1);
		append(launcher->lists[0], executable, 2);
		captured_ran(3);
		CHECK(calls.destroy_executable(executable));
		CHECK(calls.destroy(graph));
	}
}

static void *thread_run(void *argument)
{
	struct launcher launcher;

	launcher_open(&launcher);
	for (unsigned i = 0; i < 20; i++) {
		way_simple(&launcher);
		way_fork(&launcher);
	}
	return argument;
}

FUNCTION void way_threads(struct launcher *launcher)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, thread_run, launcher) != 0)
			exit(1);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(struct launcher *launcher);
} ways[] = { { "simple", way_simple },   { "twice", way_twice },
	     { "fork", way_fork },       { "both", way_both },
	     { "paused", way_paused },   { "regular", way_regular },
	     { "nested", way_nested },   { "list-in-graph", way_list_in_graph },
	     { "invalid", way_invalid }, { "lists", way_lists },
	     { "mutable", way_mutable }, { "changeable", way_changeable },
	     { "replay", way_replay },   { "threads", way_threads } };

int main(int argc, char **argv)
{
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	struct launcher launcher;
	unsigned way = 0;

	while (argc == 4 && way < sizeof ways / sizeof *ways && strcmp(ways[way].name, argv[3]) != 0)
		way++;
	if (argc != 4 || way == sizeof ways / sizeof *ways) {
		fputs("usage: graphs MODULE loader|driver WAY\n", stderr);
		return 2;
	}
	CHECK(zeInit(0));
	module_open(argv[1]);
	CHECK(zeMemAllocDevice(context, &memory, 65536, 64, device, &buffer));
	if (strcmp(argv[2], "driver") == 0)
		calls_of_driver();
	launcher_open(&launcher);
	ways[way].run(&launcher);
	for (unsigned i = 0; i < KERNEL_COUNT; i++)
		printf("executed %s %u\n", kernel_names[i], executed[i]);
	return 0;
}
