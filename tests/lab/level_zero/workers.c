/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that make turns at the chosen rate, with immediate command lists or with regular ones. */
#include "workers.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/base/clock.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

/* Every call waits for the device this long. */
#define TIMEOUT (60 * SECOND)

struct job {
	pthread_t thread;
	struct device *device;
	const struct options *options;
	const struct load *load;
	struct worker *worker;
	ze_command_queue_handle_t queue;
	struct gpu_jobs jobs;
};

static void *shared_memory(const struct device *device, size_t size)
{
	ze_device_mem_alloc_desc_t on_device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t on_host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	void *memory;

	CALL(&device->calls, zeMemAllocShared, "a buffer", device->context, &on_device, &on_host, size, 64,
	     device->device, &memory);
	return memory;
}

static void kernels_create(struct job *job)
{
	struct worker *worker = job->worker;

	worker->buffer = shared_memory(job->device, BUFFER_SIZE);
	worker->indirect = shared_memory(job->device, sizeof *worker->indirect);
	for (unsigned i = 0; i < KERNEL_COUNT; i++) {
		const char *name = kernel_descriptions[i].name;
		ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };

		CALL(worker->calls, zeKernelCreate, name, job->load->modules[kernel_descriptions[i].module].handle,
		     &description, &worker->kernels[i]);
	}
	launches_prepare(worker);
}

static void kernels_destroy(struct job *job)
{
	struct worker *worker = job->worker;

	for (unsigned i = 0; i < KERNEL_COUNT; i++)
		CALL(worker->calls, zeKernelDestroy, kernel_descriptions[i].name, worker->kernels[i]);
	CALL(worker->calls, zeMemFree, "a buffer", job->device->context, worker->buffer);
	CALL(worker->calls, zeMemFree, "a buffer", job->device->context, worker->indirect);
}

/* What was appended ran once more. */
static void executions_add(struct worker *worker)
{
	for (unsigned site = 0; site < SITE_COUNT; site++)
		for (unsigned kernel = 0; kernel < KERNEL_COUNT; kernel++)
			worker->executed[site][kernel] += worker->appended[site][kernel];
}

static void list_immediate(struct job *job)
{
	ze_command_queue_desc_t description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
						.flags = job->options->in_order ? ZE_COMMAND_QUEUE_FLAG_IN_ORDER : 0,
						.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };

	CALL(&job->device->calls, zeCommandListCreateImmediate, "a command list", job->device->context,
	     job->device->device, &description, &job->worker->list);
}

/* The list of one turn: each thread appends to it once and then only executes it. */
static void list_regular(struct job *job)
{
	const struct level_zero *calls = &job->device->calls;
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };

	CALL(calls, zeCommandQueueCreate, "a queue", job->device->context, job->device->device, &queue, &job->queue);
	CALL(calls, zeCommandListCreate, "a command list", job->device->context, job->device->device, &list,
	     &job->worker->list);
	forward(job->worker);
	CALL(calls, zeCommandListClose, "a command list", job->worker->list);
}

/* The function that is on the stack when what is in a regular list runs. */
__attribute__((noipa)) static void execute_lists(struct job *job)
{
	for (unsigned i = 0; i < job->options->executions; i++) {
		job_submit(job->options->jobs_node ? &job->jobs : NULL);
		CALL(&job->device->calls, zeCommandQueueExecuteCommandLists, "a queue", job->queue, 1,
		     &job->worker->list, NULL);
		executions_add(job->worker);
	}
	CALL(&job->device->calls, zeCommandQueueSynchronize, "a queue", job->queue, TIMEOUT);
}

/* Whoever leads the program does not know how long it will take on a slow machine. */
static bool is_led_to_the_end(const struct options *options)
{
	struct pollfd input = { .fd = STDIN_FILENO };

	return options->steps && poll(&input, 1, 0) > 0 && input.revents & POLLHUP;
}

static bool turns_are_made(const struct job *job, uint64_t turn, uint64_t start)
{
	const struct options *options = job->options;

	if (!options->duration)
		return turn == (uint64_t)options->turns * job->worker->number;
	return clock_monotonic() - start >= options->duration * MILLISECOND || is_led_to_the_end(options);
}

static void turns_make(struct job *job)
{
	const struct options *options = job->options;
	uint64_t start = clock_monotonic();

	for (uint64_t turn = 0; !turns_are_made(job, turn, start); turn++) {
		unsigned span = (unsigned)(turn % (options->spans + 1));
		if (options->rate)
			sleep_until(start + turn * SECOND / options->rate);
		span_publish(job->worker->number, span);
		job->worker->span_turns[span]++;
		if (options->regular_lists) {
			execute_lists(job);
		} else {
			forward(job->worker);
			CALL(&job->device->calls, zeCommandListHostSynchronize, "a command list", job->worker->list,
			     TIMEOUT);
		}
		if (turn == 0 && job->worker->number == 1 && options->duration && options->steps) {
			puts("turns");
			fflush(stdout);
		}
	}
	span_publish(job->worker->number, 0);
}

/* What is launched from here on is on the device as well. */
static void jobs_begin(struct job *job)
{
	const struct options *options = job->options;

	if (!options->jobs_node)
		return;
	int result = gpu_jobs_open(&job->jobs, options->jobs_node, options->job_engine, options->job_time,
				   &options->windows);
	if (result)
		fail("%s: %s: give --jobs the node of the lab's double of xe", options->jobs_node, strerror(-result));
	if (!options->regular_lists)
		job->worker->launch_jobs = &job->jobs;
}

static void jobs_end(struct job *job)
{
	if (!job->options->jobs_node)
		return;
	int result = gpu_jobs_close(&job->jobs);
	if (result)
		fail("a job on %s does not end: %s", job->options->jobs_node, strerror(-result));
	job->worker->job_count = job->jobs.count;
}

__attribute__((noipa)) static void *worker_run(void *argument)
{
	struct job *job = argument;
	struct worker *worker = job->worker;

	worker->thread = gettid();
	/* The first thread is the process's own, whose name is the program's. */
	if (worker->number > 1)
		pthread_setname_np(pthread_self(), worker->name);
	pthread_getname_np(pthread_self(), worker->name, sizeof worker->name);
	kernels_create(job);
	if (job->options->regular_lists)
		list_regular(job);
	else
		list_immediate(job);
	jobs_begin(job);
	turns_make(job);
	jobs_end(job);
	if (!job->options->regular_lists) /* each launch ran when it was appended */
		memcpy(worker->executed, worker->appended, sizeof worker->executed);
	CALL(worker->calls, zeCommandListDestroy, "a command list", worker->list);
	if (job->queue)
		CALL(worker->calls, zeCommandQueueDestroy, "a queue", job->queue);
	kernels_destroy(job);
	return NULL;
}

void workers_run(struct device *device, const struct options *options, const struct load *load, struct worker *workers)
{
	struct job jobs[THREADS_MAX];

	for (unsigned i = 0; i < options->threads; i++) {
		workers[i] = (struct worker){ .calls = &device->calls,
					      .site_launches = options->site_launches,
					      .site_kernel = options->site_kernel };
		workers[i].number = i + 1;
		snprintf(workers[i].name, sizeof workers[i].name, "worker-%u", i + 1);
		jobs[i] = (struct job){ .device = device, .options = options, .load = load, .worker = &workers[i] };
	}
	for (unsigned i = 1; i < options->threads; i++)
		if (pthread_create(&jobs[i].thread, NULL, worker_run, &jobs[i]) != 0)
			fail("no thread %u: use fewer --threads", i + 1);
	worker_run(&jobs[0]);
	for (unsigned i = 1; i < options->threads; i++)
		pthread_join(jobs[i].thread, NULL);
}
