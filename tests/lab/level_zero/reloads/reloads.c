/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the same module again and again, and launches its kernel from another place each time:
 * reloads level-zero|opencl MODULE KERNEL LOADS GAP [FILE TEXT]
 * MODULE has native code, and the arguments of KERNEL are two pointers and a number. GAP: milliseconds from the end of
 * a module to the next one. TEXT is written to FILE after the launches of each load, before its module ends: for the
 * lab's double of an xe device.
 * Prints "pid" PID, waits for a line, and prints for each load "load" NUMBER FUNCTION ADDRESS, with words between tabs.
 * Ends with a line and status 1 if a call fails.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "../module_file.h"

#define LAUNCHES 20
#define KERNEL_GPU_ADDRESS 0x10010 /* CL_KERNEL_BINARY_GPU_ADDRESS_INTEL */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

static const char *kernel_name;
static ze_module_desc_t binary;

struct runtime {
	void (*begin)(void);
	uint64_t (*load)(void); /* returns the address of the kernel */
	void (*launch)(void);
	void (*unload)(void);
};

static void fail(const char *what, int64_t result)
{
	fprintf(stderr, "reloads: %s: %" PRId64 "\n", what, result);
	exit(1);
}

static struct {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_command_list_handle_t list;
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;
	ze_result_t (*address)(ze_kernel_handle_t kernel, uint64_t *address);
	void *buffer;
} level_zero;

static void level_zero_begin(void)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	uint32_t one = 1;

	CHECK(zeInit(0));
	CHECK(zeDriverGet(&one, &level_zero.driver));
	CHECK(zeDeviceGet(level_zero.driver, &one, &level_zero.device));
	CHECK(zeContextCreate(level_zero.driver, &context, &level_zero.context));
	CHECK(zeCommandListCreateImmediate(level_zero.context, level_zero.device, &queue, &level_zero.list));
	CHECK(zeMemAllocDevice(level_zero.context, &memory, 4096, 64, level_zero.device, &level_zero.buffer));
	CHECK(zeDriverGetExtensionFunctionAddress(level_zero.driver, "zexKernelGetBaseAddress",
						  (void **)&level_zero.address));
}

static uint64_t level_zero_load(void)
{
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel_name };
	int number = 1;
	uint64_t address;

	CHECK(zeModuleCreate(level_zero.context, level_zero.device, &binary, &level_zero.module, NULL));
	CHECK(zeKernelCreate(level_zero.module, &kernel, &level_zero.kernel));
	CHECK(zeKernelSetGroupSize(level_zero.kernel, 32, 1, 1));
	CHECK(zeKernelSetArgumentValue(level_zero.kernel, 0, sizeof level_zero.buffer, &level_zero.buffer));
	CHECK(zeKernelSetArgumentValue(level_zero.kernel, 1, sizeof level_zero.buffer, &level_zero.buffer));
	CHECK(zeKernelSetArgumentValue(level_zero.kernel, 2, sizeof number, &number));
	CHECK(level_zero.address(level_zero.kernel, &address));
	return address;
}

static void level_zero_launch(void)
{
	static const ze_group_count_t groups = { 1, 1, 1 };

	CHECK(zeCommandListAppendLaunchKernel(level_zero.list, level_zero.kernel, &groups, NULL, 0, NULL));
}

static void level_zero_unload(void)
{
	CHECK(zeKernelDestroy(level_zero.kernel));
	CHECK(zeModuleDestroy(level_zero.module));
}

static struct {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;
	cl_program program;
	cl_kernel kernel;
} opencl;

static void check(cl_int result, const char *call)
{
	if (result != CL_SUCCESS)
		fail(call, result);
}
#define CHECK_CL(call) check(call, #call)

static void opencl_begin(void)
{
	cl_platform_id platform;
	cl_int error;

	CHECK_CL(clGetPlatformIDs(1, &platform, NULL));
	CHECK_CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &opencl.device, NULL));
	opencl.context = clCreateContext(NULL, 1, &opencl.device, NULL, NULL, &error);
	check(error, "clCreateContext");
	opencl.queue = clCreateCommandQueueWithProperties(opencl.context, opencl.device, NULL, &error);
	check(error, "clCreateCommandQueueWithProperties");
	opencl.buffer = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, 4096, NULL, &error);
	check(error, "clCreateBuffer");
}

static uint64_t opencl_load(void)
{
	cl_int error, number = 1;
	uint64_t address;

	opencl.program = clCreateProgramWithBinary(opencl.context, 1, &opencl.device, &binary.inputSize,
						   (const unsigned char **)&binary.pInputModule, NULL, &error);
	check(error, "clCreateProgramWithBinary");
	CHECK_CL(clBuildProgram(opencl.program, 1, &opencl.device, "", NULL, NULL));
	opencl.kernel = clCreateKernel(opencl.program, kernel_name, &error);
	check(error, "clCreateKernel");
	CHECK_CL(clSetKernelArg(opencl.kernel, 0, sizeof opencl.buffer, &opencl.buffer));
	CHECK_CL(clSetKernelArg(opencl.kernel, 1, sizeof opencl.buffer, &opencl.buffer));
	CHECK_CL(clSetKernelArg(opencl.kernel, 2, sizeof number, &number));
	CHECK_CL(clGetKernelInfo(opencl.kernel, KERNEL_GPU_ADDRESS, sizeof address, &address, NULL));
	return address;
}

static void opencl_launch(void)
{
	static const size_t size = 32;

	CHECK_CL(clEnqueueNDRangeKernel(opencl.queue, opencl.kernel, 1, NULL, &size, &size, 0, NULL, NULL));
}

static void opencl_unload(void)
{
	CHECK_CL(clReleaseKernel(opencl.kernel));
	CHECK_CL(clReleaseProgram(opencl.program));
}

/* A function of its own for each load, so that the stack shows it. */
#define PLACE(number)                                                                                                  \
	__attribute__((noinline)) static void launch_in_place_##number(const struct runtime *runtime)                  \
	{                                                                                                              \
		for (int i = 0; i < LAUNCHES; i++)                                                                     \
			runtime->launch();                                                                             \
		__asm__ volatile("");                                                                                  \
	}
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
static void (*const places[])(const struct runtime *runtime) = { launch_in_place_0, launch_in_place_1,
								 launch_in_place_2, launch_in_place_3,
								 launch_in_place_4 };
#define PLACES (sizeof places / sizeof *places)

static void write_text(int file, const char *text)
{
	if (file >= 0 && write(file, text, strlen(text)) < 0)
		fail(text, -1);
}

int main(int argc, char **argv)
{
	static const struct runtime runtimes[] = {
		{ level_zero_begin, level_zero_load, level_zero_launch, level_zero_unload },
		{ opencl_begin, opencl_load, opencl_launch, opencl_unload },
	};

	if (argc != 6 && argc != 8)
		fail("level-zero|opencl MODULE KERNEL LOADS GAP [FILE TEXT]", argc);
	const struct runtime *runtime = &runtimes[strcmp(argv[1], "opencl") == 0];
	unsigned loads = (unsigned)atoi(argv[4]), gap = (unsigned)atoi(argv[5]);
	int file = argc == 8 ? open(argv[6], O_WRONLY | O_CLOEXEC) : -1;

	if (argc == 8 && file < 0)
		fail(argv[6], file);
	binary = module_read(argv[2]);
	kernel_name = argv[3];
	printf("pid\t%d\n", getpid());
	fflush(stdout);
	getchar();
	runtime->begin();
	for (unsigned number = 0; number < loads; number++) {
		uint64_t address = runtime->load() & ADDRESS_MASK;

		places[number % PLACES](runtime);
		write_text(file, argv[7]);
		runtime->unload();
		printf("load\t%u\tlaunch_in_place_%zu\t%#" PRIx64 "\n", number, number % PLACES, address);
		usleep(gap * 1000);
	}
	return 0;
}
