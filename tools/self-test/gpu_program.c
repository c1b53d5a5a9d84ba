/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-self-test-gpu: a Level Zero program like any other, whose kernels have known behaviour. It runs each of them
 * for some time, and prints lines of words (observations.h) about the device, its code and its launches.
 *
 *     iaprof-self-test-gpu MILLISECONDS events|no-events
 *
 * It begins when it reads a line from standard input. Without events of its own, device times are unknown to it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels_spirv.inc"
#include "level_zero.h"

#define KERNELS 5
#define DATA_SIZE (64u << 20)
#define DATA_MASK (DATA_SIZE / sizeof(uint32_t) - 1)
/* A launch is lengthened until it takes this long on the host, so that starting it does not matter. */
#define LAUNCH_TIME UINT64_C(2000000) /* ns */
#define TURNS_MAX (1u << 24)
#define WAIT_MAX UINT64_C(10000000000) /* ns */

struct kernel {
	const char *name;
	uint32_t group_size;
	bool fills_gpu; /* else it has one group */
	ze_kernel_handle_t handle;
	uint32_t turns, groups;
	uint64_t launches, launched;  /* all launches, and their time on the host, ns */
	uint64_t timed, host, device; /* launches of the right length, and their times, ns */
};

static struct kernel kernels[KERNELS] = {
	{ .name = "self_test_memory", .group_size = 32, .fills_gpu = true },
	{ .name = "self_test_wide", .group_size = 32, .fills_gpu = true },
	{ .name = "self_test_narrow", .group_size = 1 },
	{ .name = "self_test_barrier", .group_size = 256, .fills_gpu = true },
	{ .name = "self_test_caller", .group_size = 32, .fills_gpu = true },
};

static struct {
	struct level_zero calls;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_device_properties_t properties;
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_command_list_handle_t list;
	ze_event_handle_t event; /* NULL: without */
	void *data;
} gpu;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void check(ze_result_t result, const char *call)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s failed: %#x\n", call, (unsigned)result);
	exit(EXIT_FAILURE);
}

#define CALL(name, ...) check(gpu.calls.name(__VA_ARGS__), #name)

static void device_open(void)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_driver_properties_t driver = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
	uint32_t count = 1;

	CALL(zeInit, ZE_INIT_FLAG_GPU_ONLY);
	CALL(zeDriverGet, &count, &gpu.driver);
	count = 1;
	CALL(zeDeviceGet, gpu.driver, &count, &gpu.device);
	if (!count) {
		fprintf(stderr, "the Level Zero driver has no GPU\n");
		exit(EXIT_FAILURE);
	}
	CALL(zeDriverGetProperties, gpu.driver, &driver);
	/* With this version of the structure, the timer's resolution is in cycles per second. */
	gpu.properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
	CALL(zeDeviceGetProperties, gpu.device, &gpu.properties);
	CALL(zeContextCreate, gpu.driver, &context, &gpu.context);
	const ze_device_properties_t *of = &gpu.properties;
	printf("gpu %#x driver %#x eus %u threads-per-eu %u timer %" PRIu64 " timer-bits %u\n", of->deviceId,
	       driver.driverVersion, of->numSlices * of->numSubslicesPerSlice * of->numEUsPerSubslice,
	       of->numThreadsPerEU, of->timerResolution, of->kernelTimestampValidBits);
}

static void print_image(void)
{
	size_t size = 0;

	CALL(zeModuleGetNativeBinary, gpu.module, &size, NULL);
	unsigned char *image = malloc(size);
	if (!image)
		exit(EXIT_FAILURE);
	CALL(zeModuleGetNativeBinary, gpu.module, &size, image);
	printf("image ");
	for (size_t i = 0; i < size; i++)
		printf("%02x", image[i]);
	printf("\n");
	free(image);
}

static void module_load(void)
{
	ze_module_desc_t module = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				    .format = ZE_MODULE_FORMAT_IL_SPIRV,
				    .inputSize = sizeof kernels_spirv,
				    .pInputModule = kernels_spirv,
				    .pBuildFlags = "-g" };
	ze_result_t (*base_address)(ze_kernel_handle_t, uint64_t *) = NULL;

	CALL(zeModuleCreate, gpu.context, gpu.device, &module, &gpu.module, NULL);
	/* Intel's extension; without it, the addresses of kernels are unknown. */
	if (gpu.calls.zeDriverGetExtensionFunctionAddress(gpu.driver, "zexKernelGetBaseAddress",
							  (void **)&base_address) != ZE_RESULT_SUCCESS)
		base_address = NULL;
	for (struct kernel *kernel = kernels; kernel < kernels + KERNELS; kernel++) {
		ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel->name };
		uint64_t address;
		CALL(zeKernelCreate, gpu.module, &description, &kernel->handle);
		if (base_address && base_address(kernel->handle, &address) == ZE_RESULT_SUCCESS)
			printf("kernel %s %#" PRIx64 "\n", kernel->name, address & ((UINT64_C(1) << 48) - 1));
	}
	print_image();
}

static void event_create(void)
{
	ze_event_pool_desc_t pool_description = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
						  .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
							   ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
						  .count = 1 };
	ze_event_desc_t description = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
					.signal = ZE_EVENT_SCOPE_FLAG_HOST,
					.wait = ZE_EVENT_SCOPE_FLAG_HOST };
	ze_event_pool_handle_t pool;

	CALL(zeEventPoolCreate, gpu.context, &pool_description, 1, &gpu.device, &pool);
	CALL(zeEventCreate, pool, &description, &gpu.event);
}

static void list_create(void)
{
	ze_command_queue_desc_t description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
						.flags = LEVEL_ZERO_IN_ORDER,
						.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_device_mem_alloc_desc_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };

	CALL(zeCommandListCreateImmediate, gpu.context, gpu.device, &description, &gpu.list);
	CALL(zeMemAllocShared, gpu.context, &device, &host, DATA_SIZE, 64, gpu.device, &gpu.data);
}

/* Returns the device time of the last launch, from its event, in ns. */
static uint64_t device_time(void)
{
	ze_kernel_timestamp_result_t times;
	uint32_t bits = gpu.properties.kernelTimestampValidBits;
	uint64_t mask = bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	CALL(zeEventQueryKernelTimestamp, gpu.event, &times);
	CALL(zeEventHostReset, gpu.event);
	/* "context" leaves out the time in which another context ran. */
	uint64_t ticks = (times.global.kernelEnd - times.global.kernelStart) & mask;
	return (uint64_t)((double)ticks * 1e9 / (double)gpu.properties.timerResolution);
}

/* Launches a kernel, waits for its end, and returns its time on the host. device: may be NULL. ns */
static uint64_t launch(struct kernel *kernel, uint64_t *device)
{
	const ze_group_count_t groups = { kernel->groups, 1, 1 };

	CALL(zeKernelSetArgumentValue, kernel->handle, 1, sizeof kernel->turns, &kernel->turns);
	uint64_t begin = now();
	CALL(zeCommandListAppendLaunchKernel, gpu.list, kernel->handle, &groups, gpu.event, 0, NULL);
	CALL(zeCommandListHostSynchronize, gpu.list, WAIT_MAX);
	uint64_t time = now() - begin;
	kernel->launches++;
	kernel->launched += time;
	if (gpu.event) {
		uint64_t on_device = device_time();
		if (device)
			*device = on_device;
	}
	return time;
}

static void kernel_prepare(struct kernel *kernel)
{
	const uint32_t mask = DATA_MASK;
	const ze_device_properties_t *of = &gpu.properties;
	uint32_t threads = of->numSlices * of->numSubslicesPerSlice * of->numEUsPerSubslice * of->numThreadsPerEU;

	CALL(zeKernelSetGroupSize, kernel->handle, kernel->group_size, 1, 1);
	CALL(zeKernelSetArgumentValue, kernel->handle, 0, sizeof gpu.data, &gpu.data);
	CALL(zeKernelSetArgumentValue, kernel->handle, 2, sizeof mask, &mask);
	/* A thread has 32 work-items at most: this is at least as many threads as the GPU holds, four times over. */
	kernel->groups = kernel->fills_gpu ? 4 * (threads * 32 / kernel->group_size + 1) : 1;
	/* The first launch includes the copy of the code to the device. */
	kernel->turns = 256;
	launch(kernel, NULL);
	while (kernel->turns < TURNS_MAX && launch(kernel, NULL) < LAUNCH_TIME)
		kernel->turns *= 2;
}

static void kernel_run(struct kernel *kernel, uint64_t duration)
{
	uint64_t end = now() + duration, device = 0;

	printf("begin %s %" PRIu64 "\n", kernel->name, now());
	while (now() < end) {
		kernel->host += launch(kernel, &device);
		kernel->device += device;
		kernel->timed++;
	}
	printf("run %s groups %u turns %u timed %" PRIu64 " host %" PRIu64, kernel->name, kernel->groups, kernel->turns,
	       kernel->timed, kernel->host);
	if (gpu.event)
		printf(" device %" PRIu64, kernel->device);
	printf("\n");
}

int main(int argc, char **argv)
{
	uint64_t duration = argc == 3 ? strtoull(argv[1], NULL, 10) * 1000000 : 0;
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	if (!duration || (strcmp(argv[2], "events") && strcmp(argv[2], "no-events"))) {
		fprintf(stderr, "usage: iaprof-self-test-gpu MILLISECONDS events|no-events\n");
		return 2;
	}
	if (!level_zero_open(&gpu.calls))
		return EXIT_FAILURE;
	device_open();
	module_load();
	if (!strcmp(argv[2], "events"))
		event_create();
	list_create();
	printf("ready\n");
	if (!fgets(line, sizeof line, stdin))
		return EXIT_FAILURE;
	for (struct kernel *kernel = kernels; kernel < kernels + KERNELS; kernel++) {
		kernel_prepare(kernel);
		kernel_run(kernel, duration);
	}
	for (struct kernel *kernel = kernels; kernel < kernels + KERNELS; kernel++)
		printf("launches %s %" PRIu64 " %" PRIu64 "\n", kernel->name, kernel->launches, kernel->launched);
	return 0;
}
