/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills and copies of OpenCL, for which the driver runs kernels of its own: opencl-fills
 * Reads words from standard input, and after each prints "done" WORD COUNT, with words between tabs: how often it did
 *   fill, copy, rectangle, read, write, svm_fill, svm_copy, map, image, image_fill, image_map
 *               this, in the function launch_WORD; a map is undone, which counts, too
 *   kernel      launched its kernel "add", in launch_kernel
 *   addresses   nothing; before, for each kernel, the driver's own and the program's: "code" PID NAME ADDRESS SIZE, and
 *               "reservation" lines (reservations.h)
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "fills/same_class.h"
#include "reservations.h"

#define KERNEL_GPU_ADDRESS 0x10010 /* CL_KERNEL_BINARY_GPU_ADDRESS_INTEL */
#define SIZE 65536
#define FUNCTION __attribute__((noipa)) static

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernels[2];
static cl_mem from, to, images[2];
static void *shared[2];

static const char source[] = "kernel void add(global int *a) { a[get_global_id(0)] += 1; }\n"
			     "kernel void multiply(global int *a) { a[get_global_id(0)] *= 3; }\n";

static void check(cl_int result, const char *call)
{
	if (result == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", call, result);
	exit(1);
}
#define CHECK(call) check(call, #call)

FUNCTION void launch_fill(void)
{
	static const int pattern = 7;

	CHECK(clEnqueueFillBuffer(queue, to, &pattern, sizeof pattern, 0, SIZE, 0, NULL, NULL));
}

FUNCTION void launch_copy(void)
{
	CHECK(clEnqueueCopyBuffer(queue, from, to, 0, 0, SIZE, 0, NULL, NULL));
}

FUNCTION void launch_rectangle(void)
{
	static const size_t origin[3] = { 1, 2, 0 }, region[3] = { 16, 4, 1 };

	CHECK(clEnqueueCopyBufferRect(queue, from, to, origin, origin, region, 64, 0, 64, 0, 0, NULL, NULL));
}

static char memory[SIZE];

FUNCTION void launch_read(void)
{
	CHECK(clEnqueueReadBuffer(queue, from, CL_FALSE, 0, SIZE, memory, 0, NULL, NULL));
}

FUNCTION void launch_write(void)
{
	CHECK(clEnqueueWriteBuffer(queue, to, CL_FALSE, 0, SIZE, memory, 0, NULL, NULL));
}

FUNCTION void launch_svm_fill(void)
{
	static const int pattern = 7;

	CHECK(clEnqueueSVMMemFill(queue, shared[0], &pattern, sizeof pattern, SIZE, 0, NULL, NULL));
}

FUNCTION void launch_svm_copy(void)
{
	CHECK(clEnqueueSVMMemcpy(queue, CL_FALSE, shared[1], shared[0], SIZE, 0, NULL, NULL));
}

FUNCTION void launch_map(void)
{
	cl_int error;
	void *mapped = clEnqueueMapBuffer(queue, from, CL_FALSE, CL_MAP_READ, 0, SIZE, 0, NULL, NULL, &error);

	check(error, "clEnqueueMapBuffer");
	CHECK(clEnqueueUnmapMemObject(queue, from, mapped, 0, NULL, NULL));
}

static const size_t image_origin[3], image_region[3] = { 16, 16, 1 };

FUNCTION void launch_image(void)
{
	CHECK(clEnqueueCopyImage(queue, images[0], images[1], image_origin, image_origin, image_region, 0, NULL, NULL));
}

FUNCTION void launch_image_fill(void)
{
	static const cl_uint color[4] = { 1, 2, 3, 4 };

	CHECK(clEnqueueFillImage(queue, images[0], color, image_origin, image_region, 0, NULL, NULL));
}

FUNCTION void launch_image_map(void)
{
	size_t pitch;
	cl_int error;
	void *mapped = clEnqueueMapImage(queue, images[0], CL_FALSE, CL_MAP_READ, image_origin, image_region, &pitch,
					 NULL, 0, NULL, NULL, &error);

	check(error, "clEnqueueMapImage");
	CHECK(clEnqueueUnmapMemObject(queue, images[0], mapped, 0, NULL, NULL));
}

FUNCTION void launch_kernel(void)
{
	static const size_t size = 64;

	CHECK(clEnqueueNDRangeKernel(queue, kernels[0], 1, NULL, &size, NULL, 0, NULL, NULL));
}

static const struct {
	const char *name;
	void (*run)(void);
	unsigned count;
} steps[] = {
	{ "fill", launch_fill, 1 },           { "copy", launch_copy, 1 },
	{ "rectangle", launch_rectangle, 1 }, { "read", launch_read, 1 },
	{ "write", launch_write, 1 },         { "svm_fill", launch_svm_fill, 1 },
	{ "svm_copy", launch_svm_copy, 1 },   { "map", launch_map, 2 },
	{ "image", launch_image, 1 },         { "image_fill", launch_image_fill, 1 },
	{ "image_map", launch_image_map, 2 }, { "kernel", launch_kernel, 1 },
};

static void code_print(void *object)
{
	char name[256] = "";
	uint64_t address;

	if (clGetKernelInfo(object, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
	    clGetKernelInfo(object, KERNEL_GPU_ADDRESS, sizeof address, &address, NULL) == CL_SUCCESS)
		printf("code\t%d\t%s\t%#" PRIx64 "\t%d\n", getpid(), name, address & (UINT64_MAX >> 16), 64);
}

static unsigned step_run(const char *name)
{
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (strcmp(name, steps[i].name) != 0)
			continue;
		steps[i].run();
		CHECK(clFlush(queue));
		return steps[i].count;
	}
	if (strcmp(name, "addresses") != 0) {
		fprintf(stderr, "no step %s\n", name);
		exit(2);
	}
	same_class_find(kernels[0], kernels[1], "libigdrcl", code_print);
	reservations_print(stdout);
	return 0;
}

static void objects_open(void)
{
	static const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	static const cl_image_desc description = { .image_type = CL_MEM_OBJECT_IMAGE2D,
						   .image_width = 16,
						   .image_height = 16 };
	const char *text = source;
	cl_platform_id platform;
	cl_int error;

	CHECK(clGetPlatformIDs(1, &platform, NULL));
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
	check(error, "clCreateCommandQueueWithProperties");
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
	from = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &error);
	check(error, "clCreateBuffer");
	to = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &error);
	for (int i = 0; i < 2; i++) {
		kernels[i] = clCreateKernel(program, i ? "multiply" : "add", &error);
		check(error, "clCreateKernel");
		images[i] = clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, &error);
		check(error, "clCreateImage");
		shared[i] = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 64);
	}
	CHECK(clSetKernelArg(kernels[0], 0, sizeof to, &to));
}

int main(void)
{
	char word[64];

	objects_open();
	printf("pid\t%d\n", getpid());
	fflush(stdout);
	while (scanf("%63s", word) == 1) {
		unsigned count = step_run(word);

		printf("done\t%s\t%u\n", word, count);
		fflush(stdout);
	}
	return 0;
}
