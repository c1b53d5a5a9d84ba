/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what enqueuing an OpenCL kernel costs: enqueue_cost [layer]. Lines of words between tabs: what was measured,
 * and nanoseconds (the least of many rounds). Nothing executes without a GPU, so that the program never waits for one.
 * layer: the driver's tracing calls a function that does nothing before and after each launch.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "../../../lib/base/clock.h"

#define ROUNDS 60
#define LAUNCHES 500
#define ENQUEUE_ND_RANGE 43 /* compute-runtime, opencl/source/tracing/tracing_types.h */

static cl_command_queue queue;
static cl_kernel kernel;

static void check(cl_int error, const char *call)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", call, error);
	exit(1);
}

__attribute__((noipa)) static void at_depth(unsigned depth)
{
	static const size_t size = 64;

	if (depth > 0)
		at_depth(depth - 1);
	else
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
	__asm__ volatile("" ::: "memory");
}

static double measure(unsigned depth)
{
	uint64_t least = UINT64_MAX;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t begun = clock_monotonic();

		for (unsigned i = 0; i < LAUNCHES; i++)
			at_depth(depth);
		uint64_t spent = clock_monotonic() - begun;
		if (spent < least)
			least = spent;
		check(clFlush(queue), "clFlush");
	}
	return (double)least / LAUNCHES;
}

static void do_nothing(int32_t function, void *call, void *data)
{
	(void)function;
	(void)call;
	(void)data;
}

static void *extension(cl_platform_id platform, const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(platform, name);

	check(function ? CL_SUCCESS : CL_INVALID_VALUE, name);
	return function;
}

static void layer_enable(cl_platform_id platform, cl_device_id device)
{
	typedef cl_int create(cl_device_id, void (*)(int32_t, void *, void *), void *, void **);
	typedef cl_int set(void *, int32_t, cl_uint);
	typedef cl_int enable(void *);
	void *tracing;

	check(((create *)extension(platform, "clCreateTracingHandleINTEL"))(device, do_nothing, NULL, &tracing),
	      "clCreateTracingHandleINTEL");
	check(((set *)extension(platform, "clSetTracingPointINTEL"))(tracing, ENQUEUE_ND_RANGE, 1),
	      "clSetTracingPointINTEL");
	check(((enable *)extension(platform, "clEnableTracingINTEL"))(tracing), "clEnableTracingINTEL");
}

int main(int argc, char **argv)
{
	const char *source = "kernel void nothing(void) {}";
	cl_platform_id platform;
	cl_device_id device;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), "clGetDeviceIDs");
	if (argc == 2 && strcmp(argv[1], "layer") == 0)
		layer_enable(platform, device);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
	check(error, "clCreateCommandQueueWithProperties");
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	check(error, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "nothing", &error);
	check(error, "clCreateKernel");
	printf("launch at depth 10\t%.1f\n", measure(10));
	printf("launch at depth 40\t%.1f\n", measure(40));
	return 0;
}
