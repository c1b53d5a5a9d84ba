/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL program whose launches are timed: timed ORDER EVENTS WAIT THREADS TURNS RATE
 *   ORDER    in-order or out-of-order: the queue of each thread
 *   EVENTS   none; or the program's for each launch: own, on queues without times, or profiled, on queues with times
 *   WAIT     what ends a turn: finish, events (the last launch's), read (a blocking copy), or poll (the event's status)
 *   RATE     turns a second of each thread, 0: as fast as they are
 * or: timed sees, which prints what a program sees of queues, events and errors, as lines of words.
 * timed.py's kernels and their launches in a turn are those in launches[].
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#define THREADS_MAX 8
#define LAUNCHES_MAX 16
#define SIZE 4096

static const struct {
	const char *kernel;
	unsigned count;
} launches[] = { { "matmul_tile", 3 }, { "softmax_row", 2 },  { "matmul_dpas", 1 },
		 { "bias_gelu", 1 },   { "add_residual", 1 }, { "rotate_spill", 1 } };
#define KERNELS (sizeof launches / sizeof *launches)

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;
static char **words;

static void check(cl_int result, const char *call)
{
	if (result == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", call, result);
	exit(1);
}
#define CHECK(call) check(call, #call)

static cl_command_queue queue_create(cl_command_queue_properties flags)
{
	const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, flags, 0 };
	cl_int error;
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &error);

	check(error, "clCreateCommandQueueWithProperties");
	return queue;
}

static cl_kernel kernel_create(const char *name, cl_mem buffer)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	check(error, "clCreateKernel");
	CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
	return kernel;
}

static cl_mem buffer_create(void)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &error);

	check(error, "clCreateBuffer");
	return buffer;
}

static cl_command_queue older_queue_create(cl_command_queue_properties flags)
{
	cl_int error;
	cl_command_queue queue = clCreateCommandQueue(context, device, flags, &error);

	check(error, "clCreateCommandQueue");
	return queue;
}

static bool is_word(unsigned index, const char *word)
{
	return strcmp(words[index], word) == 0;
}

struct worker {
	pthread_t thread;
	cl_mem buffer;
	cl_command_queue queue;
	cl_kernel kernels[KERNELS];
	cl_event events[LAUNCHES_MAX];
	unsigned event_count;
};

__attribute__((noinline)) static void launch(struct worker *worker, unsigned kernel)
{
	static const size_t size = 64;
	cl_event *event = is_word(2, "none") ? NULL : &worker->events[worker->event_count++];

	if (kernel % 2)
		CHECK(clEnqueueTask(worker->queue, worker->kernels[kernel], 0, NULL, event));
	else
		CHECK(clEnqueueNDRangeKernel(worker->queue, worker->kernels[kernel], 1, NULL, &size, NULL, 0, NULL,
					     event));
}

static void turn_end(struct worker *worker)
{
	static __thread char memory[SIZE];
	cl_int status = CL_QUEUED;

	if (is_word(3, "finish"))
		CHECK(clFinish(worker->queue));
	else if (is_word(3, "read"))
		CHECK(clEnqueueReadBuffer(worker->queue, worker->buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL));
	else if (is_word(3, "events"))
		CHECK(clWaitForEvents(1, &worker->events[worker->event_count - 1]));
	while (is_word(3, "poll") && status != CL_COMPLETE)
		CHECK(clGetEventInfo(worker->events[worker->event_count - 1], CL_EVENT_COMMAND_EXECUTION_STATUS,
				     sizeof status, &status, NULL));
	while (worker->event_count)
		CHECK(clReleaseEvent(worker->events[--worker->event_count]));
}

static void turn_await(struct timespec *next, long rate)
{
	if (!rate)
		return;
	next->tv_nsec += 1000000000 / rate;
	next->tv_sec += next->tv_nsec / 1000000000;
	next->tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) != 0)
		;
}

static void *worker_run(void *argument)
{
	struct worker *worker = argument;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long turn = 0; turn < atol(words[5]); turn++) {
		for (unsigned i = 0; i < KERNELS; i++)
			for (unsigned count = 0; count < launches[i].count; count++)
				launch(worker, i);
		turn_end(worker);
		turn_await(&next, atol(words[6]));
	}
	CHECK(clFinish(worker->queue));
	CHECK(clReleaseCommandQueue(worker->queue));
	return NULL;
}

static void workers_run(void)
{
	static struct worker workers[THREADS_MAX];
	int count = atoi(words[4]);
	cl_command_queue_properties flags = (is_word(1, "out-of-order") ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0) |
					    (is_word(2, "profiled") ? CL_QUEUE_PROFILING_ENABLE : 0);

	for (int i = 0; i < count; i++) {
		workers[i].buffer = buffer_create();
		workers[i].queue = i % 2 ? older_queue_create(flags) : queue_create(flags);
		for (unsigned kernel = 0; kernel < KERNELS; kernel++)
			workers[i].kernels[kernel] = kernel_create(launches[kernel].kernel, workers[i].buffer);
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
}

/* What the driver answers about a queue, into rooms that are too large, too small and none. */
static void queue_print(const char *name, cl_command_queue queue)
{
	printf("queue\t%s", name);
	for (unsigned room = 0; room <= 12; room++) {
		cl_queue_properties list[12];
		size_t size = 99;

		memset(list, 0xee, sizeof list);
		cl_int result = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, room * sizeof *list,
						      room == 12 ? NULL : list, &size);
		printf("\t%d %zu", result, size);
		for (unsigned i = 0; i < sizeof list / sizeof *list && list[i] != 0xeeeeeeeeeeeeeeee; i++)
			printf(" %lx", (unsigned long)list[i]);
	}
	for (unsigned room = 0; room <= 16; room += 4) {
		cl_command_queue_properties flags[2] = { 0xee, 0xee };
		size_t size = 99;
		cl_int result = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, room, flags, &size);

		printf("\t%d %zu %lx %lx", result, size, (unsigned long)flags[0], (unsigned long)flags[1]);
	}
	cl_uint references = 0;
	cl_int result = clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL);
	printf("\t%d %u\n", result, references);
}

static void queues_see(void)
{
	static const cl_queue_properties empty[] = { 0 }, order[] = { CL_QUEUE_PROPERTIES, 1, 0 },
					 priority[] = { CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, 0 },
					 both[] = { CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR,
						    CL_QUEUE_PROPERTIES, 3, 0 },
					 wrong[] = { CL_QUEUE_PROPERTIES, 0x100, 0 }, unknown[] = { 0x9999, 1, 0 },
					 on_device[] = { CL_QUEUE_PROPERTIES, 5, 0 };
	static const struct {
		const char *name;
		const cl_queue_properties *list;
	} cases[] = { { "none", NULL },     { "empty", empty }, { "order", order },     { "priority", priority },
		      { "profiled", both }, { "wrong", wrong }, { "unknown", unknown }, { "on-device", on_device } };
	clCreateCommandQueueWithPropertiesKHR_fn create =
		(clCreateCommandQueueWithPropertiesKHR_fn)clGetExtensionFunctionAddressForPlatform(
			platform, "clCreateCommandQueueWithPropertiesKHR");

	for (unsigned i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		const cl_queue_properties *list = cases[i / 2].list;
		cl_int error = 99;
		cl_command_queue queue = i % 2 ? create(context, device, list, &error)
					       : clCreateCommandQueueWithProperties(context, device, list, &error);

		printf("create\t%s\t%d\n", cases[i / 2].name, error);
		if (!queue)
			continue;
		queue_print(cases[i / 2].name, queue);
		CHECK(clReleaseCommandQueue(queue));
	}
	for (cl_command_queue_properties flags = 0; flags < 5; flags++) {
		cl_int error = 99;
		cl_command_queue queue = clCreateCommandQueue(context, device, flags, &error);

		printf("create\t%lu\t%d\n", (unsigned long)flags, error);
		if (!queue)
			continue;
		queue_print("flags", queue);
		CHECK(clReleaseCommandQueue(queue));
	}
}

static void event_print(const char *name, cl_event event)
{
	static const cl_profiling_info queries[] = { CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END, 0x99 };
	cl_uint references = 0;
	cl_int result = clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL);

	printf("event\t%s\t%d %u", name, result, references);
	for (unsigned i = 0; i < sizeof queries / sizeof *queries; i++) {
		cl_ulong value = 0xee;
		size_t size = 99;

		result = clGetEventProfilingInfo(event, queries[i], sizeof value, &value, &size);
		printf("\t%d %zu %d", result, size, value == 0xee);
	}
	printf("\n");
}

static void count_call(cl_event event, cl_int status, void *count)
{
	(void)event;
	(void)status;
	__atomic_fetch_add((int *)count, 1, __ATOMIC_RELAXED);
}

static void events_see(const char *name, cl_command_queue_properties flags)
{
	static const size_t size = 64;
	cl_command_queue queue = queue_create(flags);
	cl_kernel kernel = kernel_create("matmul_tile", buffer_create());
	cl_event event = NULL, blocker, blocked;
	cl_int error;
	int calls = 0;

	printf("launches\t%s\n", name);
	printf("refused\t%d", clEnqueueNDRangeKernel(queue, kernel, 9, NULL, &size, NULL, 0, NULL, NULL));
	printf("\t%d", clEnqueueNDRangeKernel(queue, kernel, 9, NULL, &size, NULL, 0, NULL, &event));
	printf("\t%d\t%d\n", event != NULL, clEnqueueNDRangeKernel(queue, NULL, 1, NULL, &size, NULL, 0, NULL, NULL));
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, &event));
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 1, &event, NULL));
	CHECK(clFinish(queue));
	event_print("ended", event);
	CHECK(clReleaseEvent(event));

	/* Launches that a user event holds back, which then happens, or fails. */
	for (cl_int status = 0; status > -2; status--) {
		cl_int found = 99;

		blocker = clCreateUserEvent(context, &error);
		check(error, "clCreateUserEvent");
		CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 1, &blocker, NULL));
		CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 1, &blocker, &blocked));
		event_print("blocked", blocked);
		CHECK(clSetUserEventStatus(blocker, status));
		printf("finish\t%d", clFinish(queue));
		printf("\t%d", clWaitForEvents(1, &blocked));
		CHECK(clGetEventInfo(blocked, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof found, &found, NULL));
		printf("\t%d\n", found);
		CHECK(clReleaseEvent(blocked));
		CHECK(clReleaseEvent(blocker));
	}

	/* The program's function is called once. */
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, &event));
	CHECK(clSetEventCallback(event, CL_COMPLETE, count_call, &calls));
	CHECK(clFinish(queue));
	CHECK(clWaitForEvents(1, &event));
	while (!__atomic_load_n(&calls, __ATOMIC_RELAXED))
		;
	event_print("called", event);
	CHECK(clReleaseEvent(event));
	printf("calls\t%d\n", __atomic_load_n(&calls, __ATOMIC_RELAXED));

	/* The queue ends before its launches, and its last event. */
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, &event));
	CHECK(clRetainCommandQueue(queue));
	CHECK(clReleaseCommandQueue(queue));
	queue_print(name, queue);
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clWaitForEvents(1, &event));
	event_print("last", event);
	CHECK(clReleaseEvent(event));
}

static void program_see(void)
{
	cl_uint references = 0;

	queues_see();
	events_see("plain", 0);
	events_see("out-of-order", CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	events_see("profiled", CL_QUEUE_PROFILING_ENABLE);
	CHECK(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, NULL));
	printf("context\t%u\n", references);
}

static void program_build(void)
{
	char source[4096] = "";
	const char *text = source;
	cl_int error;

	for (unsigned i = 0; i < KERNELS; i++)
		snprintf(source + strlen(source), sizeof source - strlen(source),
			 "kernel void %s(global int *a) { a[get_global_id(0)] += %u; }\n", launches[i].kernel, i);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	check(error, "clCreateProgramWithSource");
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

int main(int argc, char **argv)
{
	cl_int error;

	words = argv;
	CHECK(clGetPlatformIDs(1, &platform, NULL));
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "clCreateContext");
	program_build();
	if (argc == 7)
		workers_run();
	else if (argc == 2 && is_word(1, "sees"))
		program_see();
	else
		return 2;
	return 0;
}
