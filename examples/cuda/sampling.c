/* SPDX-License-Identifier: Apache-2.0 */
/* See sampling.h. */
#define _GNU_SOURCE
#include "sampling.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONTEXTS_MAX 64
/* PCs read at a time, and how often at most. */
#define PCS_MAX 16384
#define READS_MAX 32
#define FUNCTIONS_MAX 65536u
#define INTERVALS_MAX 3u
#define NANOSECONDS 1000000000ull
/* A callback does not wait longer for the reading thread, which may wait for a lock of CUPTI that the caller holds. */
#define CALLBACK_WAIT_SECONDS 2

struct context {
	cupti_context handle;
	uint32_t device;
	uint64_t read; /* time of the last one that had samples */
	struct cupti_pc_data data, configured;
};

/* Code that was sampled: its record is sent once. */
struct function {
	uint64_t crc;
	char *name;
};

struct sampling {
	const struct cupti_functions *cupti;
	struct writer *writer;
	struct sampling_settings settings;
	pthread_mutex_t lock;
	struct context *contexts[CONTEXTS_MAX]; /* CUPTI keeps addresses in them */
	size_t count;
	size_t reason_count; /* CUPTI's indexes are below it, and unstated has it; 0: not known yet */
	bool has_reasons;    /* they were sent */
	uint64_t devices;    /* bit n: device n was sent; atomic */
	int (*read_name)(char *name, int size, int device); /* of the driver; NULL: not found */
	int (*read_address)(char *address, int size, int device);
	struct function *functions; /* id - 1 */
	uint32_t function_count;
	uint32_t *index; /* open hash table of ids, 2 * FUNCTIONS_MAX */
};

uint64_t sampling_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

struct sampling *sampling_new(const struct cupti_functions *cupti, struct writer *writer,
			      const struct sampling_settings *settings)
{
	struct sampling *sampling = calloc(1, sizeof *sampling);
	if (!sampling)
		return NULL;
	*sampling = (struct sampling){ .cupti = cupti,
				       .writer = writer,
				       .settings = *settings,
				       .lock = PTHREAD_MUTEX_INITIALIZER,
				       .functions = calloc(FUNCTIONS_MAX, sizeof *sampling->functions),
				       .index = calloc(2 * FUNCTIONS_MAX, sizeof *sampling->index) };
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (driver) {
		*(void **)&sampling->read_name = dlsym(driver, "cuDeviceGetName");
		*(void **)&sampling->read_address = dlsym(driver, "cuDeviceGetPCIBusId");
	}
	if (sampling->functions && sampling->index)
		return sampling;
	free(sampling->functions);
	free(sampling->index);
	free(sampling);
	return NULL;
}

static void free_data(struct cupti_pc_data *data)
{
	if (data->pcs)
		free(data->pcs[0].stalls);
	free(data->pcs);
	*data = (struct cupti_pc_data){ 0 };
}

static bool make_data(struct cupti_pc_data *data, size_t capacity, size_t reasons)
{
	struct cupti_stall *stalls = calloc(capacity * reasons, sizeof *stalls);
	*data = (struct cupti_pc_data){ .size = sizeof *data,
					.capacity = capacity,
					.pcs = calloc(capacity, sizeof *data->pcs) };
	if (!stalls || !data->pcs) {
		free(stalls);
		free(data->pcs);
		data->pcs = NULL;
		return false;
	}
	for (size_t i = 0; i < capacity; i++) {
		data->pcs[i].size = sizeof data->pcs[i];
		data->pcs[i].stalls = stalls + i * reasons;
	}
	return true;
}

static void send_named(struct sampling *sampling, uint32_t type, uint32_t number, const char *text)
{
	struct cuda_device record = { .id = number, .length = (uint32_t)strnlen(text, CUDA_NAME_MAX) };
	record.header = (struct cuda_record){ (uint32_t)sizeof record + ((record.length + 7) & ~7u), type };
	writer_put(sampling->writer, &record, sizeof record, text, record.length, CUDA_DROP_RECORDS, 1);
}

void sampling_announce(struct sampling *sampling, uint32_t device)
{
	uint64_t bit = device < 64 ? (uint64_t)1 << device : 0;
	if (!bit || __atomic_load_n(&sampling->devices, __ATOMIC_RELAXED) & bit ||
	    __atomic_fetch_or(&sampling->devices, bit, __ATOMIC_RELAXED) & bit)
		return;
	char address[64] = "-", name[256] = "CUDA device", text[sizeof address + sizeof name];
	if (sampling->read_name)
		(void)sampling->read_name(name, sizeof name, (int)device);
	if (sampling->read_address && sampling->read_address(address, sizeof address, (int)device))
		strcpy(address, "-");
	name[sizeof name - 1] = address[sizeof address - 1] = '\0';
	snprintf(text, sizeof text, "%s %s", address, name);
	send_named(sampling, CUDA_RECORD_DEVICE, device, text);
}

/* Reads and sends the names of the stall reasons. Returns their number; 0 on failure. */
static size_t read_reasons(struct sampling *sampling, cupti_context context)
{
	size_t count = 0, largest = 0;
	struct cupti_reason_count counted = { .size = sizeof counted, .context = context, .count = &count };
	if (sampling->cupti->reason_count(&counted) || !count || count > 4096)
		return 0;
	uint32_t *indexes = calloc(count, sizeof *indexes);
	char **names = calloc(count, sizeof *names), *text = calloc(count, CUPTI_REASON_NAME_SIZE);
	struct cupti_reason_names named = {
		.size = sizeof named, .context = context, .count = count, .indexes = indexes, .names = names
	};
	for (size_t i = 0; names && text && i < count; i++)
		names[i] = text + i * CUPTI_REASON_NAME_SIZE;
	bool done = indexes && names && text && !sampling->cupti->reason_names(&named);
	for (size_t i = 0; done && i < count; i++) {
		text[(i + 1) * CUPTI_REASON_NAME_SIZE - 1] = '\0';
		send_named(sampling, CUDA_RECORD_REASON, indexes[i], names[i]);
		largest = indexes[i] > largest ? indexes[i] : largest;
	}
	free(indexes);
	free(names);
	free(text);
	if (!done)
		return 0;
	size_t reasons = largest + 1 > count ? largest + 1 : count;
	send_named(sampling, CUDA_RECORD_REASON, (uint32_t)reasons, CUDA_UNSTATED_REASON);
	return reasons;
}

static int configure(struct sampling *sampling, struct context *context)
{
	struct cupti_attribute attributes[] = {
		{ .type = CUPTI_ATTRIBUTE_PERIOD, .value.number = sampling->settings.period },
		{ .type = CUPTI_ATTRIBUTE_MODE, .value.number = sampling->settings.mode },
		{ .type = CUPTI_ATTRIBUTE_FORMAT, .value.number = CUPTI_FORMAT_PARSED },
		{ .type = CUPTI_ATTRIBUTE_BUFFER, .value.pointer = &context->configured },
		{ .type = CUPTI_ATTRIBUTE_WORKER_SLEEP, .value.number = sampling->settings.sleep },
	};
	struct cupti_configuration configuration = { .size = sizeof configuration,
						     .context = context->handle,
						     .count = sizeof attributes / sizeof *attributes,
						     .attributes = attributes };
	return sampling->cupti->sampling_configure(&configuration);
}

/* Begins the sampling of a context. Returns what failed, or NULL. */
static const char *begin(struct sampling *sampling, struct context *context, int *error)
{
	struct cupti_of_context parameters = { .size = sizeof parameters, .context = context->handle };
	*error = sampling->cupti->sampling_enable(&parameters);
	if (*error)
		return "cuptiPCSamplingEnable";
	if (!sampling->has_reasons)
		sampling->reason_count = read_reasons(sampling, context->handle);
	sampling->has_reasons = sampling->reason_count;
	const char *failed = sampling->reason_count ? NULL : "cuptiPCSamplingGetStallReasons";
	if (!failed && (!make_data(&context->data, PCS_MAX, sampling->reason_count) ||
			!make_data(&context->configured, PCS_MAX, sampling->reason_count)))
		failed = "memory";
	if (!failed && (*error = configure(sampling, context)))
		failed = "cuptiPCSamplingSetConfigurationAttribute";
	if (failed)
		(void)sampling->cupti->sampling_disable(&parameters);
	return failed;
}

static bool lock_soon(struct sampling *sampling)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CALLBACK_WAIT_SECONDS;
	return !pthread_mutex_timedlock(&sampling->lock, &until);
}

static void free_context(struct context *context)
{
	free_data(&context->data);
	free_data(&context->configured);
	free(context);
}

static const char *add_context(struct sampling *sampling, cupti_context handle, int *error)
{
	struct context *context = calloc(1, sizeof *context);
	if (!context)
		return "memory";
	*context = (struct context){ .handle = handle, .read = sampling_clock() };
	if (sampling->cupti->device(handle, &context->device))
		context->device = 0;
	sampling_announce(sampling, context->device);
	const char *failed = begin(sampling, context, error);
	if (failed)
		free_context(context);
	else
		sampling->contexts[sampling->count++] = context;
	return failed;
}

void sampling_add(struct sampling *sampling, cupti_context handle)
{
	int error = 0;
	const char *failed = "too many contexts";
	if (!lock_soon(sampling))
		return writer_send_message(sampling->writer, true,
					   "a context is not sampled: another one is being read");
	if (sampling->count < CONTEXTS_MAX)
		failed = add_context(sampling, handle, &error);
	pthread_mutex_unlock(&sampling->lock);
	if (failed)
		writer_send_message(sampling->writer, true, "no stall samples: %s failed with CUPTI error %d%s", failed,
				    error,
				    error == 35 ? " (GPU counters are for root alone: run as root, or load the driver "
						  "with NVreg_RestrictProfilingToAdminUsers=0)"
						: "");
}

static uint64_t hash_of(uint64_t crc, const char *name)
{
	uint64_t hash = crc ^ 0xcbf29ce484222325ull;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return hash ^ hash >> 32;
}

/* Returns the id of a function, which is sent when it is new; 0 if there are too many. */
static uint32_t function_id(struct sampling *sampling, uint64_t crc, const char *name)
{
	size_t slot = hash_of(crc, name) % (2 * FUNCTIONS_MAX);
	for (; sampling->index[slot]; slot = (slot + 1) % (2 * FUNCTIONS_MAX)) {
		const struct function *known = &sampling->functions[sampling->index[slot] - 1];
		if (known->crc == crc && strcmp(known->name, name) == 0)
			return sampling->index[slot];
	}
	struct function added = { .crc = crc, .name = strdup(name) };
	if (sampling->function_count == FUNCTIONS_MAX || !added.name) {
		free(added.name);
		return 0;
	}
	struct cuda_function record = { .id = sampling->function_count + 1,
					.length = (uint32_t)strnlen(name, CUDA_NAME_MAX),
					.crc = crc };
	record.header.size = (uint32_t)sizeof record + ((record.length + 7) & ~7u);
	record.header.type = CUDA_RECORD_FUNCTION;
	/* One that does not fit is tried again with its next sample. */
	if (!writer_put(sampling->writer, &record, sizeof record, name, record.length, CUDA_DROP_RECORDS, 1)) {
		free(added.name);
		return 0;
	}
	sampling->functions[sampling->function_count++] = added;
	sampling->index[slot] = sampling->function_count;
	return sampling->function_count;
}

static void send_pc(struct sampling *sampling, const struct context *context, const struct cupti_pc *pc, uint64_t now)
{
	struct {
		struct cuda_samples head;
		struct cuda_sample samples[CUDA_REASON_MAX];
	} record = { .head = { .device = context->device, .begin = context->read, .end = now, .offset = pc->offset } };
	uint64_t total = 0;
	for (size_t i = 0; i < pc->stall_count && i < sampling->reason_count; i++) {
		const struct cupti_stall *stall = &pc->stalls[i];
		total += stall->samples;
		if (stall->samples && record.head.count < CUDA_REASON_MAX)
			record.samples[record.head.count++] = (struct cuda_sample){ stall->reason, stall->samples };
	}
	if (!total)
		return;
	record.head.function = function_id(sampling, pc->cubin_crc, pc->function ? pc->function : "");
	size_t size = sizeof record.head + record.head.count * sizeof record.samples[0];
	record.head.header = (struct cuda_record){ (uint32_t)size, CUDA_RECORD_SAMPLES };
	if (!record.head.function)
		writer_drop(sampling->writer, CUDA_DROP_SAMPLES, total);
	else
		writer_put(sampling->writer, &record, size, NULL, 0, CUDA_DROP_SAMPLES, total);
}

/* CUPTI counts the samples in the driver's own kernels and states nothing more. */
static void send_driver_samples(struct sampling *sampling, const struct context *context, uint64_t count, uint64_t now)
{
	if (sampling->reason_count >= CUDA_REASON_MAX)
		return writer_drop(sampling->writer, CUDA_DROP_UNLISTED, count);
	struct cupti_stall stall = { .reason = (uint32_t)sampling->reason_count,
				     .samples = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX };
	struct cupti_pc pc = { .function = (char *)CUDA_DRIVER_KERNELS, .stall_count = 1, .stalls = &stall };
	send_pc(sampling, context, &pc, now);
}

static void send_data(struct sampling *sampling, const struct context *context, const struct cupti_pc_data *data,
		      uint64_t now)
{
	for (size_t i = 0; i < data->count && i < data->capacity; i++)
		send_pc(sampling, context, &data->pcs[i], now);
	if (data->dropped)
		writer_drop(sampling->writer, CUDA_DROP_HARDWARE, data->dropped);
	if (data->other_samples)
		send_driver_samples(sampling, context, data->other_samples, now);
}

/*
 * CUPTI hands over samples in intervals of its own: a read may have those of the time before the last one too, or none.
 */
static void limit_begin(const struct sampling *sampling, struct context *context, uint64_t now)
{
	uint64_t longest = INTERVALS_MAX * sampling->settings.sleep * (NANOSECONDS / 1000);
	if (now - context->read > longest)
		context->read = now - longest;
}

static void read_context(struct sampling *sampling, struct context *context)
{
	struct cupti_get_data parameters = { .size = sizeof parameters,
					     .context = context->handle,
					     .data = &context->data };
	uint64_t now = sampling_clock();
	bool has_samples = false;
	limit_begin(sampling, context, now);
	for (int i = 0; i < READS_MAX; i++) {
		struct cupti_pc_data *data = &context->data;
		data->samples = data->dropped = data->other_samples = 0;
		data->count = data->remaining = 0;
		data->is_buffer_full = 0;
		int error = sampling->cupti->sampling_data(&parameters);
		if (data->is_buffer_full || error == CUPTI_OUT_OF_MEMORY)
			writer_drop(sampling->writer, CUDA_DROP_FULL, 1);
		if (error && error != CUPTI_OUT_OF_MEMORY)
			break;
		send_data(sampling, context, data, now);
		has_samples |= data->count || data->other_samples;
		if (!data->remaining || error)
			break;
	}
	if (has_samples)
		context->read = now;
}

void sampling_read(struct sampling *sampling)
{
	pthread_mutex_lock(&sampling->lock);
	for (size_t i = 0; i < sampling->count; i++)
		read_context(sampling, sampling->contexts[i]);
	pthread_mutex_unlock(&sampling->lock);
}

static void end_context(struct sampling *sampling, struct context *context)
{
	struct cupti_of_context parameters = { .size = sizeof parameters, .context = context->handle };
	uint64_t begin = context->read;
	read_context(sampling, context);
	context->read = begin; /* what is handed over now is as old */
	context->configured.count = context->configured.dropped = context->configured.other_samples = 0;
	if (!sampling->cupti->sampling_disable(&parameters))
		send_data(sampling, context, &context->configured, sampling_clock());
	free_context(context);
}

void sampling_resume(struct sampling *sampling)
{
	pthread_mutex_lock(&sampling->lock);
	/* The writer is closed, or what it gets now is not counted. */
	for (uint32_t i = 0; i < sampling->function_count; i++)
		free(sampling->functions[i].name);
	sampling->function_count = 0;
	memset(sampling->index, 0, 2 * FUNCTIONS_MAX * sizeof *sampling->index);
	sampling->devices = 0;
	sampling->has_reasons = false;
	for (size_t i = 0; i < sampling->count; i++) {
		sampling_announce(sampling, sampling->contexts[i]->device);
		if (!sampling->has_reasons)
			sampling->has_reasons = read_reasons(sampling, sampling->contexts[i]->handle);
	}
	pthread_mutex_unlock(&sampling->lock);
}

bool sampling_has(struct sampling *sampling, cupti_context context)
{
	bool found = false;
	pthread_mutex_lock(&sampling->lock);
	for (size_t i = 0; i < sampling->count && !found; i++)
		found = !context || sampling->contexts[i]->handle == context;
	pthread_mutex_unlock(&sampling->lock);
	return found;
}

void sampling_remove(struct sampling *sampling, cupti_context handle)
{
	if (!lock_soon(sampling))
		return;
	for (size_t i = 0; i < sampling->count; i++) {
		if (sampling->contexts[i]->handle != handle)
			continue;
		end_context(sampling, sampling->contexts[i]);
		sampling->contexts[i] = sampling->contexts[--sampling->count];
		break;
	}
	pthread_mutex_unlock(&sampling->lock);
}

void sampling_end(struct sampling *sampling)
{
	if (!lock_soon(sampling))
		return;
	for (size_t i = 0; i < sampling->count; i++)
		end_context(sampling, sampling->contexts[i]);
	sampling->count = 0;
	pthread_mutex_unlock(&sampling->lock);
}
