/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_counters.h. */
#define _GNU_SOURCE
#include "gpu_counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <base/clock.h>

#include "nvml_functions.h"

#define GPUS_MAX 64u
/* How long the end waits for a call of NVML. */
#define END_WAIT_SECONDS 1

enum gpu_counter {
	GPU_POWER,
	GPU_SM_CLOCK,
	GPU_MEMORY_CLOCK,
	GPU_MEMORY,
	GPU_UTILIZATION,
	GPU_MEMORY_BUSY,
	GPU_POWER_CAPPED,
	GPU_THERMAL_SLOWDOWN,
	GPU_HARDWARE_SLOWDOWN,
	GPU_COUNTERS
};

static const struct {
	const char *name, *unit;
} names[GPU_COUNTERS] = {
	[GPU_POWER] = { "gpu-power", "watts" },
	[GPU_SM_CLOCK] = { "gpu-sm-clock", "hertz" },
	[GPU_MEMORY_CLOCK] = { "gpu-memory-clock", "hertz" },
	[GPU_MEMORY] = { "gpu-memory", "bytes" },
	[GPU_UTILIZATION] = { "gpu-utilization", "percent" },
	[GPU_MEMORY_BUSY] = { "gpu-memory-busy", "percent" },
	[GPU_POWER_CAPPED] = { "gpu-power-capped", "boolean" },
	[GPU_THERMAL_SLOWDOWN] = { "gpu-thermal-slowdown", "boolean" },
	[GPU_HARDWARE_SLOWDOWN] = { "gpu-hardware-slowdown", "boolean" },
};

struct gpu {
	uint32_t device;
	char address[64];
	/* The next two: of the thread. */
	nvml_device handle;
	uint32_t unsupported; /* bit n: counter n is not asked for any more */
	bool has_failed;      /* NVML does not know it */
	uint64_t time;        /* of the values; 0: they were sent */
	uint32_t has;         /* bit n: there is a value of counter n */
	uint32_t declared;    /* of the loop's thread */
	double values[GPU_COUNTERS];
};

struct gpu_counters {
	const char *library;
	uint64_t interval;
	struct nvml_functions nvml; /* of the thread */
	pthread_t thread;
	bool is_started; /* of the loop's thread */

	pthread_mutex_t lock; /* for what follows, but not while NVML is called */
	pthread_cond_t stop;
	bool is_stopping;
	struct gpu gpus[GPUS_MAX];
	uint32_t gpu_count;
	uint64_t readings, time, longest, failures; /* time: ns of all readings */
	char problem[256];                          /* the first one; "": none */
};

struct gpu_counters *gpu_counters_new(const char *library, uint64_t interval)
{
	struct gpu_counters *counters = calloc(1, sizeof *counters);
	pthread_condattr_t clock;
	if (!counters)
		return NULL;
	counters->library = library;
	counters->interval = interval;
	pthread_mutex_init(&counters->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&counters->stop, &clock);
	pthread_condattr_destroy(&clock);
	return counters;
}

/* Keeps the first problem. */
static void __attribute__((format(printf, 2, 3))) note(struct gpu_counters *counters, const char *format, ...)
{
	va_list arguments;
	pthread_mutex_lock(&counters->lock);
	va_start(arguments, format);
	if (!*counters->problem)
		vsnprintf(counters->problem, sizeof counters->problem, format, arguments);
	va_end(arguments);
	pthread_mutex_unlock(&counters->lock);
}

/* Opens NVML. Functions that it lacks are NULL, other than the first two. */
static bool open_nvml(struct gpu_counters *counters)
{
	static const char *const functions[] = { NVML_FUNCTION_NAMES };
	_Static_assert(sizeof functions == sizeof counters->nvml, "a name for each function");
	void *library = dlopen(counters->library, RTLD_NOW);
	if (!library) {
		note(counters, "%s", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		((void **)&counters->nvml)[i] = dlsym(library, functions[i]);
	if (!counters->nvml.clock_reasons)
		*(void **)&counters->nvml.clock_reasons = dlsym(library, NVML_EARLY_CLOCK_REASONS);
	int error = counters->nvml.init && counters->nvml.device ? counters->nvml.init() : -1;
	if (error)
		note(counters, "%s: nvmlInit_v2 failed (error %d)", counters->library, error);
	return !error;
}

/* Sets values by the results of their call, or counts a failure. Returns whether they are known. */
static bool accept(struct gpu_counters *counters, struct gpu *gpu, uint32_t which, bool has_function, int error)
{
	if (has_function && !error) {
		gpu->has |= which;
		return true;
	}
	if (!has_function || error == NVML_NOT_SUPPORTED) {
		note(counters, "%s of %s: %s", names[__builtin_ctz(which)].name, gpu->address,
		     has_function ? "not supported" : "this NVML has no such function");
		gpu->unsupported |= which;
		return false;
	}
	note(counters, "%s of %s: NVML failed (error %d)", names[__builtin_ctz(which)].name, gpu->address, error);
	pthread_mutex_lock(&counters->lock);
	counters->failures++;
	pthread_mutex_unlock(&counters->lock);
	return false;
}

#define BIT(COUNTER) (UINT32_C(1) << (COUNTER))
#define CLOCK_REASONS (BIT(GPU_POWER_CAPPED) | BIT(GPU_THERMAL_SLOWDOWN) | BIT(GPU_HARDWARE_SLOWDOWN))
#define UTILIZATION (BIT(GPU_UTILIZATION) | BIT(GPU_MEMORY_BUSY))
/* Calls a function for counters, and returns whether it returned values. */
#define CALL(WHICH, FUNCTION, ...)                                                                                     \
	(!(gpu->unsupported & (WHICH)) && accept(counters, gpu, (WHICH), nvml->FUNCTION,                               \
						 nvml->FUNCTION ? nvml->FUNCTION(gpu->handle, __VA_ARGS__) : 0))

static void read_gpu(struct gpu_counters *counters, struct gpu *gpu)
{
	const struct nvml_functions *nvml = &counters->nvml;
	double *values = gpu->values;
	uint32_t number;
	struct nvml_memory memory;
	struct nvml_utilization utilization;
	unsigned long long reasons;
	if (!gpu->handle) {
		int error = nvml->device(gpu->address, &gpu->handle);
		gpu->has_failed = error;
		if (error)
			return note(counters, "%s: NVML does not know it (error %d)", gpu->address, error);
	}
	if (CALL(BIT(GPU_POWER), power, &number))
		values[GPU_POWER] = number / 1e3;
	if (CALL(BIT(GPU_SM_CLOCK), clock, NVML_SM_CLOCK, &number))
		values[GPU_SM_CLOCK] = number * 1e6;
	if (CALL(BIT(GPU_MEMORY_CLOCK), clock, NVML_MEMORY_CLOCK, &number))
		values[GPU_MEMORY_CLOCK] = number * 1e6;
	if (CALL(BIT(GPU_MEMORY), memory, &memory))
		values[GPU_MEMORY] = (double)memory.used;
	if (CALL(UTILIZATION, utilization, &utilization)) {
		values[GPU_UTILIZATION] = utilization.gpu;
		values[GPU_MEMORY_BUSY] = utilization.memory;
	}
	if (CALL(CLOCK_REASONS, clock_reasons, &reasons)) {
		values[GPU_POWER_CAPPED] = (reasons & (NVML_POWER_CAP | NVML_POWER_BRAKE)) != 0;
		values[GPU_THERMAL_SLOWDOWN] =
			(reasons & (NVML_THERMAL_SLOWDOWN | NVML_HARDWARE_THERMAL_SLOWDOWN)) != 0;
		values[GPU_HARDWARE_SLOWDOWN] = (reasons & NVML_HARDWARE_SLOWDOWN) != 0;
	}
}

/* Reads a copy, because NVML may take its time, and publishes its values. */
static void read_one(struct gpu_counters *counters, uint32_t number)
{
	struct gpu *gpu = &counters->gpus[number];
	pthread_mutex_lock(&counters->lock);
	struct gpu copy = *gpu;
	pthread_mutex_unlock(&counters->lock);
	if (copy.has_failed)
		return;
	copy.has = 0;
	uint64_t begin = clock_read(CLOCK_MONOTONIC);
	read_gpu(counters, &copy);
	uint64_t end = clock_read(CLOCK_MONOTONIC), took = end - begin;
	pthread_mutex_lock(&counters->lock);
	gpu->handle = copy.handle;
	gpu->unsupported = copy.unsupported;
	gpu->has_failed = copy.has_failed;
	gpu->has = copy.has;
	memcpy(gpu->values, copy.values, sizeof gpu->values);
	gpu->time = end;
	counters->readings += copy.has != 0;
	counters->time += took;
	counters->longest = took > counters->longest ? took : counters->longest;
	pthread_mutex_unlock(&counters->lock);
}

static void *read_all(void *argument)
{
	struct gpu_counters *counters = argument;
	bool is_open = open_nvml(counters);
	uint64_t next = clock_read(CLOCK_MONOTONIC);
	pthread_mutex_lock(&counters->lock);
	while (is_open && !counters->is_stopping) {
		uint32_t count = counters->gpu_count;
		pthread_mutex_unlock(&counters->lock);
		for (uint32_t i = 0; i < count; i++)
			read_one(counters, i);
		uint64_t now = clock_read(CLOCK_MONOTONIC);
		next = next + counters->interval > now ? next + counters->interval : now;
		const struct timespec until = { .tv_sec = (time_t)(next / NANOSECONDS_PER_SECOND),
						.tv_nsec = (long)(next % NANOSECONDS_PER_SECOND) };
		pthread_mutex_lock(&counters->lock);
		while (!counters->is_stopping &&
		       pthread_cond_timedwait(&counters->stop, &counters->lock, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&counters->lock);
	return NULL;
}

/* Signals are for the threads of iaprof. */
static bool start_thread(struct gpu_counters *counters)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&counters->thread, NULL, read_all, counters);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		note(counters, "no thread: %s", strerror(error));
	return !error;
}

void gpu_counters_add(struct gpu_counters *counters, uint32_t device, const char *address)
{
	if (!counters || counters->gpu_count == GPUS_MAX)
		return;
	pthread_mutex_lock(&counters->lock);
	struct gpu *gpu = &counters->gpus[counters->gpu_count];
	gpu->device = device;
	snprintf(gpu->address, sizeof gpu->address, "%s", address);
	counters->gpu_count++;
	pthread_mutex_unlock(&counters->lock);
	if (!counters->is_started)
		counters->is_started = start_thread(counters);
}

static void send_gpu(struct gpu *gpu, struct record_batch *batch)
{
	for (uint32_t i = 0; i < GPU_COUNTERS; i++) {
		struct record_counter counter = { .id = gpu->device * GPU_COUNTERS + i,
						  .name = names[i].name,
						  .unit = names[i].unit,
						  .kind = IAPROF_COUNTER_GAUGE,
						  .device = gpu->device };
		if (!(gpu->has & BIT(i)))
			continue;
		if (!(gpu->declared & BIT(i)))
			(void)record_batch_declare_counter(batch, &counter, gpu->time);
		gpu->declared |= BIT(i);
		(void)record_batch_set_counter(batch, counter.id, gpu->values[i], gpu->time);
	}
	gpu->time = 0;
}

void gpu_counters_send(struct gpu_counters *counters, struct record_batch *batch)
{
	if (!counters)
		return;
	pthread_mutex_lock(&counters->lock);
	for (uint32_t i = 0; i < counters->gpu_count; i++)
		if (counters->gpus[i].time)
			send_gpu(&counters->gpus[i], batch);
	pthread_mutex_unlock(&counters->lock);
}

static void report(struct gpu_counters *counters, const struct iaprof_host *host)
{
	if (counters->readings)
		host->log(host, IAPROF_LOG_INFO,
			  "GPU counters: %" PRIu64 " readings of a GPU, %" PRIu64 " us each, %" PRIu64 " at most",
			  counters->readings, counters->time / counters->readings / 1000, counters->longest / 1000);
	if (*counters->problem)
		host->log(host, IAPROF_LOG_INFO, "%s: %s",
			  counters->readings ? "some GPU counters are missing" : "no GPU counters", counters->problem);
	if (counters->failures)
		host->lost(host, "GPU counters: NVML failed", 0, counters->failures, 0, 0);
}

void gpu_counters_end(struct gpu_counters *counters, const struct iaprof_host *host)
{
	struct timespec until;
	if (!counters)
		return;
	pthread_mutex_lock(&counters->lock);
	counters->is_stopping = true;
	pthread_cond_broadcast(&counters->stop);
	pthread_mutex_unlock(&counters->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_WAIT_SECONDS;
	if (counters->is_started && pthread_timedjoin_np(counters->thread, NULL, &until)) {
		(void)pthread_detach(counters->thread);
		return host->log(host, IAPROF_LOG_WARNING, "NVML does not return: GPU counters end early");
	}
	report(counters, host);
	pthread_cond_destroy(&counters->stop);
	pthread_mutex_destroy(&counters->lock);
	free(counters);
}
