/* SPDX-License-Identifier: Apache-2.0 */
/* See executions.h. */
#define _GNU_SOURCE
#include "executions.h"

#include <stdlib.h>

#include "sampling.h"

#define BUFFER_SIZE ((size_t)1 << 20)
/* What CUPTI holds at a time: some 160,000 records. Without a buffer, it drops and counts records. */
#define BUFFERS_MAX 32u

/* CUPTI calls back without context. */
static struct {
	const struct cupti_functions *cupti;
	struct writer *writer;
	struct launch_counts *launches;
	pthread_mutex_t lock;
	void *free[BUFFERS_MAX];
	uint32_t free_count, made;
	uint64_t offset;           /* from CUPTI's clock to CLOCK_MONOTONIC */
	struct sampling *sampling; /* announces devices */
} executions = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* On threads of the program: waits for nothing but another buffer's request or return. */
static void request_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
	void *found = NULL;
	pthread_mutex_lock(&executions.lock);
	if (executions.free_count)
		found = executions.free[--executions.free_count];
	else if (executions.made < BUFFERS_MAX && (found = aligned_alloc(8, BUFFER_SIZE)))
		executions.made++;
	pthread_mutex_unlock(&executions.lock);
	*buffer = found;
	*size = found ? BUFFER_SIZE : 0;
	*records = 0; /* as many as fit */
}

static void return_buffer(void *buffer)
{
	pthread_mutex_lock(&executions.lock);
	executions.free[executions.free_count++] = buffer;
	pthread_mutex_unlock(&executions.lock);
}

/* Compares the clocks. CUPTI's is that of the host only when the driver has been initialized. */
static void compare_clocks(void)
{
	uint64_t theirs, before = sampling_clock();
	if (executions.cupti->timestamp(&theirs))
		return;
	uint64_t after = sampling_clock();
	__atomic_store_n(&executions.offset, before + (after - before) / 2 - theirs, __ATOMIC_RELAXED);
}

static void send_kernel(const struct cupti_kernel_activity *kernel)
{
	uint64_t offset = __atomic_load_n(&executions.offset, __ATOMIC_RELAXED);
	/* Without room on the device, CUPTI leaves times at 0. */
	if (!kernel->start || kernel->end < kernel->start)
		return writer_drop(executions.writer, CUDA_DROP_TIMES, 1);
	sampling_announce(executions.sampling, kernel->device);
	struct cuda_execution record = { .header = { sizeof record, CUDA_RECORD_EXECUTION },
					 .kernel = launch_counts_kernel(executions.launches,
									kernel->name ? kernel->name : ""),
					 .device = kernel->device,
					 .begin = kernel->start + offset,
					 .end = kernel->end + offset,
					 .correlation = kernel->correlation,
					 .stream = kernel->stream,
					 .graph = kernel->graph,
					 .node = kernel->node };
	if (record.kernel)
		writer_put(executions.writer, &record, sizeof record, NULL, 0, CUDA_DROP_EXECUTIONS, 1);
	else
		writer_drop(executions.writer, CUDA_DROP_EXECUTIONS, 1);
}

static void complete_buffer(cupti_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
	void *record = NULL;
	size_t dropped = 0;
	(void)size;
	compare_clocks();
	while (used && !executions.cupti->activity_next(buffer, used, &record))
		if (*(const uint32_t *)record == CUPTI_ACTIVITY_KERNEL)
			send_kernel(record);
	if (!executions.cupti->activity_dropped(context, stream, &dropped) && dropped)
		writer_drop(executions.writer, CUDA_DROP_EXECUTIONS, dropped);
	return_buffer(buffer);
}

int executions_start(const struct cupti_functions *cupti, struct writer *writer, struct launch_counts *launches,
		     struct sampling *sampling)
{
	executions.sampling = sampling;
	executions.writer = writer;
	executions.launches = launches;
	executions.cupti = cupti;
	int error = cupti->activity_callbacks(request_buffer, complete_buffer);
	return error ? error : cupti->activity_enable(CUPTI_ACTIVITY_KERNEL);
}

void executions_stop(void)
{
	if (!executions.cupti)
		return;
	(void)executions.cupti->activity_disable(CUPTI_ACTIVITY_KERNEL);
	(void)executions.cupti->activity_flush(CUPTI_FLUSH_FORCED);
	executions.cupti = NULL;
	pthread_mutex_lock(&executions.lock);
	while (executions.free_count) {
		free(executions.free[--executions.free_count]);
		executions.made--;
	}
	pthread_mutex_unlock(&executions.lock);
}

void executions_send(bool is_end)
{
	if (executions.cupti)
		(void)executions.cupti->activity_flush(is_end ? CUPTI_FLUSH_FORCED : 0);
}
