/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that passes calls on to Intel's: ZE_ENABLE_ALT_DRIVERS names it. On a machine without a GPU, Intel's accepts
 * launches, and no event ever gets a time stamp. This one plays the device: launches run one after another, as long as
 * PLAYED_TIMES=KERNEL=MICROSECONDS,... states, on CLOCK_MONOTONIC in the device's own ticks; events of launches happen
 * at their end, with time stamps if they were made for those, and waiting for a list takes until then. Every second
 * execution of a kernel takes a quarter more, every other one a quarter less.
 * At the end, it appends the truth to the file PLAYED_TRUTH: lines of words between tabs, times in ns:
 *
 *     time  KERNEL  LAUNCHES  TIME
 *     idle  TIME                     between the first begin and the last end
 *     event COUNT                    launches that had one
 *     wrong COUNT                    uses of an event that the specification forbids, or that wait
 */
#include <dlfcn.h>
#include <errno.h>
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KERNELS_MAX 64
#define HANDLES_MAX 65536 /* a power of two */

struct played_kernel {
	char name[128];
	uint64_t time, launches, busy; /* ns */
};

struct handle {
	void *handle;
	struct played_kernel *kernel; /* of a kernel */
	uint64_t begin, end;          /* of an event: of its launch; of a list: of its last launch */
	bool is_counter_based, has_time;
};

static struct {
	pthread_mutex_t lock;
	ze_event_dditable_t event;
	ze_event_pool_dditable_t event_pool;
	ze_kernel_dditable_t kernel;
	ze_command_list_dditable_t list;
	ze_device_dditable_t device;
	struct played_kernel kernels[KERNELS_MAX];
	unsigned kernel_count;
	struct handle handles[HANDLES_MAX];
	uint64_t first, last, busy, events, wrong;
	double tick;
	uint64_t global_mask, kernel_mask;
	pid_t process;
} played = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t moment)
{
	struct timespec time = { (time_t)(moment / 1000000000), (long)(moment % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static uint64_t ticks_of(uint64_t time)
{
	return (uint64_t)((double)time / played.tick);
}

/* Returns what is known about a handle, which is added; handles that are used again keep their place. */
static struct handle *handle_of(void *handle)
{
	size_t place = ((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) % HANDLES_MAX;

	while (played.handles[place].handle && played.handles[place].handle != handle)
		place = (place + 1) % HANDLES_MAX;
	played.handles[place].handle = handle;
	return &played.handles[place];
}

/* Returns the kernel of a name; with the lock. */
static struct played_kernel *kernel_named(const char *name)
{
	const char *times = getenv("PLAYED_TIMES");
	struct played_kernel *kernel = played.kernels;
	size_t length = strlen(name);

	while (kernel < played.kernels + played.kernel_count && strcmp(kernel->name, name) != 0)
		kernel++;
	if (kernel < played.kernels + played.kernel_count)
		return kernel;
	if (played.kernel_count == KERNELS_MAX || length >= sizeof kernel->name)
		abort();
	played.kernel_count++;
	strcpy(kernel->name, name);
	for (const char *at = times; at && (at = strstr(at, name)); at++)
		if ((at == times || at[-1] == ',') && at[length] == '=')
			kernel->time = strtoull(at + length + 1, NULL, 10) * 1000;
	return kernel;
}

/* A launch was appended: it runs after those before. */
static void launch_play(ze_command_list_handle_t list, ze_kernel_handle_t handle, ze_event_handle_t event)
{
	pthread_mutex_lock(&played.lock);
	struct played_kernel *kernel = handle_of(handle)->kernel;
	uint64_t begin = now();
	if (!kernel)
		abort();
	uint64_t time = kernel->launches++ % 2 ? kernel->time / 4 * 5 : kernel->time / 4 * 3;
	begin = begin > played.last ? begin : played.last;
	played.first = played.first ? played.first : begin;
	played.last = begin + time;
	played.busy += time;
	kernel->busy += time;
	handle_of(list)->end = played.last;
	if (event) {
		struct handle *known = handle_of(event);
		/* Signalled before, and not reset: waiting for it would not wait. */
		played.wrong += known->end && !known->is_counter_based;
		known->begin = begin;
		known->end = played.last;
		played.events++;
	}
	pthread_mutex_unlock(&played.lock);
}

static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *description,
				 ze_kernel_handle_t *kernel)
{
	ze_result_t result = played.kernel.pfnCreate(module, description, kernel);

	pthread_mutex_lock(&played.lock);
	if (result == ZE_RESULT_SUCCESS)
		handle_of(*kernel)->kernel = kernel_named(description->pKernelName);
	pthread_mutex_unlock(&played.lock);
	return result;
}

/* The device's own event would wait forever for a time stamp. */
#define APPEND(name, member, parameters, ...)                                                                          \
	static ze_result_t name parameters                                                                             \
	{                                                                                                              \
		ze_result_t result = played.list.member(list, kernel, __VA_ARGS__);                                    \
                                                                                                                       \
		if (result == ZE_RESULT_SUCCESS)                                                                       \
			launch_play(list, kernel, event);                                                              \
		return result;                                                                                         \
	}
#define LIST ze_command_list_handle_t list, ze_kernel_handle_t kernel
#define WAITS uint32_t count, ze_event_handle_t *waits
APPEND(append, pfnAppendLaunchKernel, (LIST, const ze_group_count_t *groups, ze_event_handle_t event, WAITS), groups,
       event, count, waits)
APPEND(append_cooperative, pfnAppendLaunchCooperativeKernel,
       (LIST, const ze_group_count_t *groups, ze_event_handle_t event, WAITS), groups, event, count, waits)
APPEND(append_indirect, pfnAppendLaunchKernelIndirect,
       (LIST, const ze_group_count_t *groups, ze_event_handle_t event, WAITS), groups, event, count, waits)
APPEND(append_with_parameters, pfnAppendLaunchKernelWithParameters,
       (LIST, const ze_group_count_t *groups, const void *next, ze_event_handle_t event, WAITS), groups, next, event,
       count, waits)
APPEND(append_with_arguments, pfnAppendLaunchKernelWithArguments,
       (LIST, const ze_group_count_t groups, const ze_group_size_t sizes, void **arguments, const void *next,
	ze_event_handle_t event, WAITS),
       groups, sizes, arguments, next, event, count, waits)

static ze_result_t append_multiple(ze_command_list_handle_t list, uint32_t count, ze_kernel_handle_t *kernels,
				   const uint32_t *launches, const ze_group_count_t *groups, ze_event_handle_t event,
				   uint32_t wait_count, ze_event_handle_t *waits)
{
	ze_result_t result = played.list.pfnAppendLaunchMultipleKernelsIndirect(list, count, kernels, launches, groups,
										event, wait_count, waits);

	for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++)
		launch_play(list, kernels[i], i + 1 < count ? NULL : event);
	return result;
}

static ze_result_t list_synchronize(ze_command_list_handle_t list, uint64_t timeout)
{
	pthread_mutex_lock(&played.lock);
	uint64_t end = handle_of(list)->end;
	pthread_mutex_unlock(&played.lock);
	sleep_until(end);
	return played.list.pfnHostSynchronize(list, timeout);
}

/* An event is new: what its address was before is over. */
static void event_begin(ze_event_handle_t event, bool is_counter_based, bool has_time)
{
	pthread_mutex_lock(&played.lock);
	*handle_of(event) =
		(struct handle){ .handle = event, .is_counter_based = is_counter_based, .has_time = has_time };
	pthread_mutex_unlock(&played.lock);
}

static ze_result_t event_create_counter_based(ze_context_handle_t context, ze_device_handle_t device,
					      const ze_event_counter_based_desc_t *description,
					      ze_event_handle_t *event)
{
	ze_result_t result = played.event.pfnCounterBasedCreate(context, device, description, event);

	if (result == ZE_RESULT_SUCCESS)
		event_begin(*event, true, description->flags & ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP);
	return result;
}

static ze_result_t event_pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *description,
				     uint32_t count, ze_device_handle_t *devices, ze_event_pool_handle_t *pool)
{
	ze_result_t result = played.event_pool.pfnCreate(context, description, count, devices, pool);

	if (result == ZE_RESULT_SUCCESS)
		event_begin((ze_event_handle_t)*pool, false, description->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	return result;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *description,
				ze_event_handle_t *event)
{
	ze_result_t result = played.event.pfnCreate(pool, description, event);

	pthread_mutex_lock(&played.lock);
	bool has_time = handle_of(pool)->has_time;
	pthread_mutex_unlock(&played.lock);
	if (result == ZE_RESULT_SUCCESS)
		event_begin(*event, false, has_time);
	return result;
}

static struct handle event_get(ze_event_handle_t event)
{
	pthread_mutex_lock(&played.lock);
	struct handle known = *handle_of(event);
	pthread_mutex_unlock(&played.lock);
	return known;
}

static ze_result_t event_status(ze_event_handle_t event)
{
	struct handle known = event_get(event);
	bool has_happened = known.end && now() >= known.end;

	/* Intel's driver waits for the time stamp. */
	if (!has_happened && known.is_counter_based && known.has_time)
		__atomic_fetch_add(&played.wrong, 1, __ATOMIC_RELAXED);
	return has_happened ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
	ze_result_t result = played.list.pfnAppendSignalEvent(list, event);

	pthread_mutex_lock(&played.lock);
	if (result == ZE_RESULT_SUCCESS)
		handle_of(event)->end = handle_of(list)->end;
	pthread_mutex_unlock(&played.lock);
	return result;
}

static ze_result_t event_synchronize(ze_event_handle_t event, uint64_t timeout)
{
	(void)timeout;
	sleep_until(event_get(event).end);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_reset(ze_event_handle_t event)
{
	pthread_mutex_lock(&played.lock);
	struct handle *known = handle_of(event);
	/* Reset while its launch runs: the launch signals it later. */
	played.wrong += known->is_counter_based || (known->end && now() < known->end);
	known->begin = known->end = 0;
	pthread_mutex_unlock(&played.lock);
	return played.event.pfnHostReset(event);
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
	pthread_mutex_lock(&played.lock);
	struct handle *known = handle_of(event);
	played.wrong += known->end && now() < known->end && !known->is_counter_based;
	*known = (struct handle){ .handle = event };
	pthread_mutex_unlock(&played.lock);
	return played.event.pfnDestroy(event);
}

static ze_result_t event_time(ze_event_handle_t event, ze_kernel_timestamp_result_t *stamps)
{
	struct handle known = event_get(event);

	if (!known.end || now() < known.end)
		return ZE_RESULT_NOT_READY;
	memset(stamps, 0, sizeof *stamps);
	if (!known.has_time)
		return ZE_RESULT_SUCCESS;
	stamps->global.kernelStart = ticks_of(known.begin) & played.kernel_mask;
	stamps->global.kernelEnd = ticks_of(known.end) & played.kernel_mask;
	stamps->context.kernelStart = 1; /* the context's clock runs only with it */
	stamps->context.kernelEnd = 1 + ticks_of(known.end - known.begin) / 2;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_time(ze_device_handle_t device, uint64_t *host, uint64_t *ticks)
{
	(void)device;
	*host = now() / 2; /* another clock than CLOCK_MONOTONIC */
	*ticks = ticks_of(now()) & played.global_mask;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *devices)
{
	ze_result_t result = played.device.pfnGet(driver, count, devices);
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 };

	if (result != ZE_RESULT_SUCCESS || !devices || !*count)
		return result;
	if (played.device.pfnGetProperties(devices[0], &properties) != ZE_RESULT_SUCCESS)
		abort();
	played.tick = 1e9 / (double)properties.timerResolution;
	played.global_mask = ~UINT64_C(0) >> (64 - properties.timestampValidBits);
	played.kernel_mask = ~UINT64_C(0) >> (64 - properties.kernelTimestampValidBits);
	return result;
}

/* The loader looks these up here, and all others of the driver in what this library is linked to. */
#define TABLE(function, type, member)                                                                                  \
	static void replace_##member(type *table);                                                                     \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL function(ze_api_version_t version, type *table)  \
	{                                                                                                              \
		__typeof__(function) *next = (__typeof__(function) *)dlsym(RTLD_NEXT, #function);                      \
		ze_result_t result = next ? next(version, table) : ZE_RESULT_ERROR_UNINITIALIZED;                      \
                                                                                                                       \
		if (result == ZE_RESULT_SUCCESS) {                                                                     \
			played.member = *table;                                                                        \
			replace_##member(table);                                                                       \
			played.process = getpid();                                                                     \
		}                                                                                                      \
		return result;                                                                                         \
	}                                                                                                              \
	static void replace_##member(type *table)

TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, kernel)
{
	table->pfnCreate = kernel_create;
}

TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, list)
{
	table->pfnAppendLaunchKernel = append;
	table->pfnAppendLaunchCooperativeKernel = append_cooperative;
	table->pfnAppendLaunchKernelIndirect = append_indirect;
	table->pfnAppendLaunchKernelWithParameters = append_with_parameters;
	table->pfnAppendLaunchKernelWithArguments = append_with_arguments;
	table->pfnAppendLaunchMultipleKernelsIndirect = append_multiple;
	table->pfnHostSynchronize = list_synchronize;
	table->pfnAppendSignalEvent = append_signal;
}

TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, event_pool)
{
	table->pfnCreate = event_pool_create;
}

TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, event)
{
	table->pfnCreate = event_create;
	table->pfnCounterBasedCreate = event_create_counter_based;
	table->pfnDestroy = event_destroy;
	table->pfnQueryStatus = event_status;
	table->pfnHostSynchronize = event_synchronize;
	table->pfnHostReset = event_reset;
	table->pfnQueryKernelTimestamp = event_time;
}

TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, device)
{
	table->pfnGet = device_get;
	table->pfnGetGlobalTimestamps = device_time;
}

__attribute__((destructor)) static void truth_write(void)
{
	const char *path = getenv("PLAYED_TRUTH");
	FILE *file = path && played.process == getpid() ? fopen(path, "a") : NULL;

	if (!file)
		return;
	for (unsigned i = 0; i < played.kernel_count; i++)
		fprintf(file, "time\t%s\t%lu\t%lu\n", played.kernels[i].name, played.kernels[i].launches,
			played.kernels[i].busy);
	fprintf(file, "idle\t%lu\nevent\t%lu\nwrong\t%lu\n", played.last - played.first - played.busy, played.events,
		played.wrong);
	fclose(file);
}
