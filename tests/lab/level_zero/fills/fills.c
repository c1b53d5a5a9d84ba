/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills, copies and queries of Level Zero, for which the driver runs kernels of its own: fills MODULE LIST
 *   LIST  immediate, regular (executed three times), copy (of a copy engine)
 * Reads words from standard input, and after each prints "done" WORD COUNT, with words between tabs: how often it did
 *   fill, copy, region, image, timestamps   this, in the function launch_WORD
 *   kernel      launched the module's kernel "tiny", in launch_kernel
 *   addresses   nothing; before, for each kernel, the driver's own and the program's: "code" PID NAME ADDRESS SIZE, and
 *               "reservation" lines (reservations.h)
 */
#include <level_zero/ze_api.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../one_module.h"
#include "../reservations.h"
#include "same_class.h"

#define FUNCTION __attribute__((noipa)) static
#define SIZE 65536
#define EXECUTIONS 3

typedef ze_result_t kernel_get_base_address(ze_kernel_handle_t kernel, uint64_t *address);
typedef ze_result_t kernel_get_binary(ze_kernel_handle_t kernel, size_t *size, char *binary);

static void *from, *to;
static ze_kernel_handle_t kernels[2];
static ze_image_handle_t images[2];
static ze_event_handle_t event;
static ze_command_list_handle_t list;
static ze_command_queue_handle_t queue; /* of a regular list */
static const ze_group_count_t group = { 1, 1, 1 };

FUNCTION void launch_fill(void)
{
	static const unsigned char pattern = 0x12; /* copy engines know no larger one */

	CHECK(zeCommandListAppendMemoryFill(list, to, &pattern, sizeof pattern, SIZE, NULL, 0, NULL));
}

FUNCTION void launch_copy(void)
{
	CHECK(zeCommandListAppendMemoryCopy(list, to, from, SIZE, NULL, 0, NULL));
}

FUNCTION void launch_region(void)
{
	static const ze_copy_region_t region = { 1, 2, 0, 16, 4, 1 };

	CHECK(zeCommandListAppendMemoryCopyRegion(list, to, &region, 64, 0, from, &region, 64, 0, NULL, 0, NULL));
}

FUNCTION void launch_image(void)
{
	CHECK(zeCommandListAppendImageCopyRegion(list, images[1], images[0], NULL, NULL, NULL, 0, NULL));
}

FUNCTION void launch_timestamps(void)
{
	CHECK(zeCommandListAppendQueryKernelTimestamps(list, 1, &event, to, NULL, NULL, 0, NULL));
}

FUNCTION void launch_kernel(void)
{
	CHECK(zeCommandListAppendLaunchKernel(list, kernels[0], &group, NULL, 0, NULL));
}

static kernel_get_base_address *base_address;
static kernel_get_binary *binary;

static void code_print(void *object)
{
	char name[256] = "";
	size_t size = sizeof name, code_size = 0;
	uint64_t address;

	CHECK(zeKernelGetName(object, &size, name));
	CHECK(base_address(object, &address));
	CHECK(binary(object, &code_size, NULL));
	printf("code\t%d\t%s\t%#" PRIx64 "\t%zu\n", getpid(), name, address & (UINT64_MAX >> 16), code_size);
}

static void addresses(void)
{
	same_class_find(kernels[0], kernels[1], "libze_intel_gpu", code_print);
	reservations_print(stdout);
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = { { "fill", launch_fill },
	      { "copy", launch_copy },
	      { "region", launch_region },
	      { "image", launch_image },
	      { "timestamps", launch_timestamps },
	      { "kernel", launch_kernel } };

/* The index of a group of queues, with or without kernels. */
static uint32_t ordinal_find(bool computes)
{
	ze_command_queue_group_properties_t groups[8] = { 0 };
	uint32_t count = 8;

	for (uint32_t i = 0; i < count; i++)
		groups[i].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
	CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, groups));
	for (uint32_t i = 0; i < count; i++)
		if (!(groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == !computes)
			return i;
	fputs("no such engine\n", stderr);
	exit(77);
}

static void list_open(const char *kind)
{
	ze_command_queue_desc_t immediate = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					      .ordinal = ordinal_find(strcmp(kind, "copy") != 0),
					      .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_command_list_desc_t regular = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
					   .commandQueueGroupOrdinal = immediate.ordinal };

	if (strcmp(kind, "regular") != 0) {
		CHECK(zeCommandListCreateImmediate(context, device, &immediate, &list));
		return;
	}
	CHECK(zeCommandQueueCreate(context, device, &immediate, &queue));
	CHECK(zeCommandListCreate(context, device, &regular, &list));
}

static void images_open(void)
{
	ze_image_desc_t description = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
					.type = ZE_IMAGE_TYPE_2D,
					.format = { .layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
						    .type = ZE_IMAGE_FORMAT_TYPE_UINT },
					.width = 16,
					.height = 16,
					.depth = 1,
					.miplevels = 0 };

	/* Some GPUs have no images. */
	for (int i = 0; i < 2; i++)
		if (zeImageCreate(context, device, &description, &images[i]) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
			return;
}

static void objects_open(void)
{
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_event_pool_desc_t pool_description = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
						  .flags = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
						  .count = 1 };
	ze_event_desc_t event_description = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_pool_handle_t pool;

	CHECK(zeMemAllocDevice(context, &memory, SIZE, 64, device, &from));
	CHECK(zeMemAllocDevice(context, &memory, SIZE, 64, device, &to));
	CHECK(zeEventPoolCreate(context, &pool_description, 1, &device, &pool));
	CHECK(zeEventCreate(pool, &event_description, &event));
	for (int i = 0; i < 2; i++) {
		ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					    .pKernelName = i ? "softmax_row" : "tiny" };

		CHECK(zeKernelCreate(module, &kernel, &kernels[i]));
	}
	CHECK(zeKernelSetGroupSize(kernels[0], 1, 1, 1));
	CHECK(zeKernelSetArgumentValue(kernels[0], 0, sizeof to, &to));
	CHECK(zeDriverGetExtensionFunctionAddress(driver, "zexKernelGetBaseAddress", (void **)&base_address));
	CHECK(zeDriverGetExtensionFunctionAddress(driver, "zeIntelKernelGetBinaryExp", (void **)&binary));
}

/* Returns how often the step was executed. */
static unsigned step_run(const char *name)
{
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (strcmp(name, steps[i].name) != 0)
			continue;
		steps[i].run();
		if (!queue)
			return 1;
		CHECK(zeCommandListClose(list));
		for (int k = 0; k < EXECUTIONS; k++)
			CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
		CHECK(zeCommandListReset(list));
		return EXECUTIONS;
	}
	if (strcmp(name, "addresses") != 0) {
		fprintf(stderr, "no step %s\n", name);
		exit(2);
	}
	addresses();
	return 0;
}

int main(int argc, char **argv)
{
	char word[64];

	if (argc != 3) {
		fputs("usage: fills MODULE immediate|regular|copy\n", stderr);
		return 2;
	}
	CHECK(zeInit(0));
	module_open(argv[1]);
	list_open(argv[2]);
	objects_open();
	images_open();
	printf("pid\t%d\n", getpid());
	fflush(stdout);
	while (scanf("%63s", word) == 1) {
		unsigned count = step_run(word);

		printf("done\t%s\t%u\n", word, count);
		fflush(stdout);
	}
	return 0;
}
