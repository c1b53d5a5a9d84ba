/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what appending a launch costs: launch_cost MODULE KERNEL [layer]. Lines of words between tabs: what was
 * measured, and nanoseconds (the least of many rounds). A regular list is appended to and reset, so that nothing waits
 * for a device. layer: the loader's tracing layer calls a function that does nothing after each launch.
 */
#include <level_zero/ze_api.h>

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/loader/ze_loader.h> /* uses bool, and includes nothing for it */

#include "../one_module.h"
#include "../../../../lib/base/clock.h"

#define ROUNDS 60
#define LAUNCHES 500
#define DEPTHS 64

static ze_command_list_handle_t list;
static ze_kernel_handle_t kernel;

/* What a uprobe costs by itself: functions that begin with a no-operation of 1, 5, and 10 bytes, to attach to. */
#define EMPTY(name, instruction)                                                                                       \
	void name(void);                                                                                               \
	__asm__(".balign 64\n.globl " #name "\n.type " #name ", @function\n" #name ": " instruction                    \
		"\nret\n.size " #name ", . - " #name)
EMPTY(empty, "nop");
EMPTY(empty_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0");
EMPTY(empty_nop10, ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0");

__attribute__((noipa)) static void append(void)
{
	static const ze_group_count_t group = { 1, 1, 1 };

	CHECK(zeCommandListAppendLaunchKernel(list, kernel, &group, NULL, 0, NULL));
}

/* Calls at that many frames below this one; every depth is a stack of its own. */
__attribute__((noipa)) static void at_depth(unsigned depth, void (*call)(void))
{
	if (depth > 0)
		at_depth(depth - 1, call);
	else
		call();
	__asm__ volatile("" ::: "memory");
}

/* The least time for one call, of all rounds. The depth changes when depths is above 1. */
static double measure(void (*call)(void), unsigned depth, unsigned depths)
{
	uint64_t least = UINT64_MAX;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t begun = clock_monotonic();

		for (unsigned i = 0; i < LAUNCHES; i++)
			at_depth(depth + i % depths, call);
		uint64_t spent = clock_monotonic() - begun;
		if (spent < least)
			least = spent;
		CHECK(zeCommandListReset(list));
	}
	return (double)least / LAUNCHES;
}

static void do_nothing(ze_command_list_append_launch_kernel_params_t *parameters, ze_result_t result, void *data,
		       void **call_data)
{
	(void)parameters;
	(void)result;
	(void)data;
	(void)call_data;
}

static void layer_enable(void)
{
	zel_tracer_desc_t description = { .stype = ZEL_STRUCTURE_TYPE_TRACER_DESC };
	zel_tracer_handle_t tracer;

	CHECK(zelEnableTracingLayer());
	CHECK(zelTracerCreate(&description, &tracer));
	CHECK(zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, do_nothing));
	CHECK(zelTracerSetEnabled(tracer, true));
}

int main(int argc, char **argv)
{
	ze_command_list_desc_t list_description = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };

	bool layer = argc == 4 && strcmp(argv[3], "layer") == 0;
	if (argc != 3 && !layer) {
		fputs("usage: launch_cost MODULE KERNEL [layer]\n", stderr);
		return 2;
	}
	CHECK(zeInit(0));
	if (layer)
		layer_enable();
	module_open(argv[1]);
	ze_kernel_desc_t kernel_description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = argv[2] };
	CHECK(zeKernelCreate(module, &kernel_description, &kernel));
	CHECK(zeKernelSetGroupSize(kernel, 1, 1, 1));
	CHECK(zeCommandListCreate(context, device, &list_description, &list));
	printf("empty\t%.1f\n", measure(empty, 10, 1));
	printf("empty_nop5\t%.1f\n", measure(empty_nop5, 10, 1));
	printf("empty_nop10\t%.1f\n", measure(empty_nop10, 10, 1));
	printf("launch at depth 10\t%.1f\n", measure(append, 10, 1));
	printf("launch at depth 40\t%.1f\n", measure(append, 40, 1));
	printf("launch from %u stacks\t%.1f\n", DEPTHS, measure(append, 10, DEPTHS));
	return 0;
}
