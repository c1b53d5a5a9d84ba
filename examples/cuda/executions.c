/* SPDX-License-Identifier: Apache-2.0 */
/* See executions.h. */
#define _GNU_SOURCE
#include "executions.h"

#include <stdbool.h>
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

/* What copies are called. */
struct copy_name {
	uint32_t copy;               /* enum cuda_copy */
	const char *name, *pageable; /* pageable: that to or from such memory of the host */
};

static const struct copy_name copy_names[] = {
	[CUPTI_HOST_TO_DEVICE] = { CUDA_COPY_HOST_TO_DEVICE, "[copy host to device]",
				   "[copy host to device (pageable)]" },
	[CUPTI_DEVICE_TO_HOST] = { CUDA_COPY_DEVICE_TO_HOST, "[copy device to host]",
				   "[copy device to host (pageable)]" },
	[CUPTI_DEVICE_TO_DEVICE] = { CUDA_COPY_ON_DEVICE, "[copy on the device]", NULL },
	[CUPTI_HOST_TO_HOST] = { CUDA_COPY_ON_HOST, "[copy on the host]", "[copy on the host (pageable)]" },
	[CUPTI_PEER_TO_PEER] = { CUDA_COPY_BETWEEN_DEVICES, "[copy between devices]", NULL },
};
static const struct copy_name set_name = { CUDA_COPY_SET, "[memory set]", NULL };

/* Returns what a copy is called; NULL: CUPTI does not state the direction. */
static const struct copy_name *name_of_copy(uint8_t direction)
{
	switch (direction) {
	case CUPTI_HOST_TO_ARRAY:
		return &copy_names[CUPTI_HOST_TO_DEVICE];
	case CUPTI_ARRAY_TO_HOST:
		return &copy_names[CUPTI_DEVICE_TO_HOST];
	case CUPTI_ARRAY_TO_ARRAY:
	case CUPTI_ARRAY_TO_DEVICE:
	case CUPTI_DEVICE_TO_ARRAY:
		return &copy_names[CUPTI_DEVICE_TO_DEVICE];
	default:
		return direction < sizeof copy_names / sizeof *copy_names && copy_names[direction].name
			       ? &copy_names[direction]
			       : NULL;
	}
}

/* Sends a copy, whose record lacks its name and that, with times of CUPTI. */
static void send_copy(const struct copy_name *name, bool is_pageable, struct cuda_execution *record)
{
	uint64_t offset = __atomic_load_n(&executions.offset, __ATOMIC_RELAXED);
	if (!record->begin || record->end < record->begin)
		return writer_drop(executions.writer, CUDA_DROP_COPY_TIMES, 1);
	sampling_announce(executions.sampling, record->device);
	record->header = (struct cuda_record){ sizeof *record, CUDA_RECORD_EXECUTION };
	record->begin += offset;
	record->end += offset;
	if (name) {
		record->copy = name->copy;
		record->kernel = launch_counts_kernel(executions.launches,
						      is_pageable && name->pageable ? name->pageable : name->name);
	}
	if (record->kernel)
		writer_put(executions.writer, record, sizeof *record, NULL, 0, CUDA_DROP_COPIES, 1);
	else
		writer_drop(executions.writer, CUDA_DROP_COPIES, 1);
}

#define COPY_OF(ACTIVITY)                                                                                              \
	(struct cuda_execution)                                                                                        \
	{                                                                                                              \
		.device = (ACTIVITY)->device, .begin = (ACTIVITY)->start, .end = (ACTIVITY)->end,                      \
		.correlation = (ACTIVITY)->correlation, .stream = (ACTIVITY)->stream, .graph = (ACTIVITY)->graph,      \
		.node = (ACTIVITY)->node, .bytes = (ACTIVITY)->bytes                                                   \
	}

static void send_activity(const void *record)
{
	switch (*(const uint32_t *)record) {
	case CUPTI_ACTIVITY_KERNEL:
		return send_kernel(record);
	case CUPTI_ACTIVITY_COPY: {
		const struct cupti_copy_activity *copy = record;
		return send_copy(name_of_copy(copy->direction),
				 copy->from == CUPTI_MEMORY_PAGEABLE || copy->to == CUPTI_MEMORY_PAGEABLE,
				 &COPY_OF(copy));
	}
	case CUPTI_ACTIVITY_PEER_COPY: {
		const struct cupti_peer_copy_activity *copy = record;
		return send_copy(&copy_names[CUPTI_PEER_TO_PEER], false, &COPY_OF(copy));
	}
	case CUPTI_ACTIVITY_SET: {
		const struct cupti_set_activity *set = record;
		return send_copy(&set_name, false, &COPY_OF(set));
	}
	default:
		return;
	}
}

static void complete_buffer(cupti_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
	void *record = NULL;
	size_t dropped = 0;
	(void)size;
	compare_clocks();
	while (used && !executions.cupti->activity_next(buffer, used, &record))
		send_activity(record);
	if (!executions.cupti->activity_dropped(context, stream, &dropped) && dropped)
		writer_drop(executions.writer, CUDA_DROP_EXECUTIONS, dropped);
	return_buffer(buffer);
}

static const uint32_t copy_kinds[] = { CUPTI_ACTIVITY_COPY, CUPTI_ACTIVITY_PEER_COPY, CUPTI_ACTIVITY_SET };
#define COPY_KINDS (sizeof copy_kinds / sizeof *copy_kinds)

int executions_start_copies(void)
{
	int error = 0;
	for (size_t i = 0; i < COPY_KINDS && executions.cupti; i++) {
		int result = executions.cupti->activity_enable(copy_kinds[i]);
		error = error ? error : result;
	}
	return error;
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
	for (size_t i = 0; i < COPY_KINDS; i++)
		(void)executions.cupti->activity_disable(copy_kinds[i]);
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
