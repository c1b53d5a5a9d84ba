/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL program that says what it did: jobs [OPTION...]
 *   --loader linked|dlopen|own|driver   libOpenCL.so.1 linked or opened later; the driver opened as an ICD loader of
 * the program's own does, in both ways that there are
 *   --threads N, --turns N              each thread makes so many turns
 *   --fork                              the turns are made by a forked child, before the parent makes its own
 *   --rebuild                           each turn has programs of its own
 *   --wait                              loads the first turn's programs, launches what it does not count, prints
 * "waits" PID, and calls OpenCL until a line comes on standard input
 *   --build binary|linked|FILE          how the second program is made: from its binary, compiled and linked, or from
 * a file of SPIR-V
 *   --print-source                      prints the second program's source, for such a file, and does nothing else
 *   --invalid                           builds only a program with an error
 *   --no-addresses                      asks for no addresses, for which OpenCL on Level Zero crashes
 * Prints lines of words between tabs: "reservation" (reservations.h), "kernel" PID NAME ADDRESS and "launch" PID THREAD
 * SITE KERNEL COUNT. Nothing
 * executes without a GPU, so that the program never waits for one.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include "reservations.h"

#define KERNEL_GPU_ADDRESS 0x10010 /* CL_KERNEL_BINARY_GPU_ADDRESS_INTEL */
#define DRIVER "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so"
#define THREADS_MAX 16
#define SITE __attribute__((noinline)) static

enum { ADD, SCALE, SUM, KERNELS };
static const char *const kernel_names[KERNELS] = { "add", "scale", "sum" };
enum { SITE_IN_ORDER, SITE_OUT_OF_ORDER, SITE_TASK, SITE_EXTENSION, SITE_CLONE, SITES };
static const char *const site_names[SITES] = { "launch_in_order", "launch_out_of_order", "launch_task",
					       "launch_by_extension", "launch_clone" };

static const char *const sources[] = {
	"kernel void add(global float *a, global float *b)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	a[i] += b[i];\n"
	"}\n"
	"kernel void scale(global float *a, global float *b)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	for (int k = 0; k < 8; k++)\n"
	"		a[i] *= b[i] + k;\n"
	"}\n",
	"kernel void sum(global float *a, global float *b)\n"
	"{\n"
	"	for (int i = 0; i < 64; i++)\n"
	"		a[0] += b[i];\n"
	"}\n",
};

static struct {
	const char *loader;
	int threads, turns;
	const char *build;
	bool fork, rebuild, wait, invalid, no_addresses;
} options = { .loader = "linked", .build = "binary", .threads = 1, .turns = 1 };

static const cl_icd_dispatch *cl; /* the functions of the driver, or of the loader */
static cl_icd_dispatch of_loader;
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;

static pthread_barrier_t all_loaded;

struct worker {
	pthread_t thread;
	int id;
	uint64_t launches[SITES][KERNELS];
	cl_program programs[2];
	cl_kernel kernels[KERNELS];
	uint64_t addresses[KERNELS];
};

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static void check(cl_int result, const char *call)
{
	if (result != CL_SUCCESS)
		fail("%s: %d", call, result);
}
#define CHECK(call) check(call, #call)

/* The program's own ICD loader: the driver's functions come with each object. */
static void own_loader(void)
{
	void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		fail("%s", dlerror());
	clIcdGetPlatformIDsKHR_fn get;
	if (strcmp(options.loader, "own") == 0) {
		void *(*extension)(const char *) =
			(void *(*)(const char *))dlsym(driver, "clGetExtensionFunctionAddress");
		get = (clIcdGetPlatformIDsKHR_fn)extension("clIcdGetPlatformIDsKHR");
	} else {
		get = (clIcdGetPlatformIDsKHR_fn)dlsym(driver, "clIcdGetPlatformIDsKHR");
	}
	CHECK(get(1, &platform, NULL));
	cl = *(const cl_icd_dispatch **)platform;
}

static void *loader_function(void *library, const char *name)
{
	void *function = dlsym(library, name);
	if (!function)
		fail("%s", dlerror());
	return function;
}

static void loader_open(void)
{
	bool linked = strcmp(options.loader, "linked") == 0;
	void *library = linked ? RTLD_DEFAULT : dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!linked && !library)
		fail("%s", dlerror());
#define FUNCTION(name) of_loader.name = (__typeof__(of_loader.name))loader_function(library, #name)
	FUNCTION(clGetPlatformIDs);
	FUNCTION(clGetDeviceIDs);
	FUNCTION(clCreateContext);
	FUNCTION(clCreateCommandQueueWithProperties);
	FUNCTION(clCreateProgramWithSource);
	FUNCTION(clCreateProgramWithBinary);
	FUNCTION(clGetProgramInfo);
	FUNCTION(clBuildProgram);
	FUNCTION(clReleaseProgram);
	FUNCTION(clCreateKernel);
	FUNCTION(clReleaseKernel);
	FUNCTION(clGetKernelInfo);
	FUNCTION(clCreateBuffer);
	FUNCTION(clSetKernelArg);
	FUNCTION(clEnqueueNDRangeKernel);
	FUNCTION(clEnqueueTask);
	FUNCTION(clCloneKernel);
	FUNCTION(clCompileProgram);
	FUNCTION(clLinkProgram);
	FUNCTION(clGetExtensionFunctionAddressForPlatform);
	FUNCTION(clFlush);
#undef FUNCTION
	cl = &of_loader;
	CHECK(cl->clGetPlatformIDs(1, &platform, NULL));
}

static cl_program program_build(const char *source)
{
	cl_int error;
	cl_program program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &error);

	check(error, "clCreateProgramWithSource");
	CHECK(cl->clBuildProgram(program, 1, &device, "-g", NULL, NULL));
	return program;
}

/* The same program again, from its binary. */
static cl_program program_of_binary(cl_program program)
{
	size_t size;
	cl_int error;

	CHECK(cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
	unsigned char *binary = malloc(size);
	CHECK(cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
	cl_program copy = cl->clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary,
							NULL, &error);
	check(error, "clCreateProgramWithBinary");
	CHECK(cl->clBuildProgram(copy, 1, &device, "-g", NULL, NULL));
	free(binary);
	CHECK(cl->clReleaseProgram(program));
	return copy;
}

static cl_program program_link(const char *source)
{
	cl_int error;
	cl_program part = cl->clCreateProgramWithSource(context, 1, &source, NULL, &error);

	check(error, "clCreateProgramWithSource");
	CHECK(cl->clCompileProgram(part, 1, &device, "-g", 0, NULL, NULL, NULL, NULL));
	cl_program program = cl->clLinkProgram(context, 1, &device, "", 1, &part, NULL, NULL, &error);
	check(error, "clLinkProgram");
	CHECK(cl->clReleaseProgram(part));
	return program;
}

static void *extension(const char *name)
{
	void *function = cl->clGetExtensionFunctionAddressForPlatform(platform, name);
	if (!function)
		fail("no %s", name);
	return function;
}

static cl_program program_of_file(const char *path)
{
	static unsigned char code[1 << 20];
	clCreateProgramWithIL_fn create = (clCreateProgramWithIL_fn)extension("clCreateProgramWithILKHR");
	FILE *file = fopen(path, "rb");
	cl_int error;

	if (!file)
		fail("no file %s", path);
	size_t size = fread(code, 1, sizeof code, file);
	fclose(file);
	cl_program program = create(context, code, size, &error);
	check(error, "clCreateProgramWithILKHR");
	CHECK(cl->clBuildProgram(program, 1, &device, "-g", NULL, NULL));
	return program;
}

static cl_program program_second(void)
{
	if (strcmp(options.build, "binary") == 0)
		return program_of_binary(program_build(sources[1]));
	return strcmp(options.build, "linked") == 0 ? program_link(sources[1]) : program_of_file(options.build);
}

static void programs_load(struct worker *worker)
{
	cl_mem buffer = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
	cl_int error;

	worker->programs[0] = program_build(sources[0]);
	worker->programs[1] = program_second();
	for (int i = 0; i < KERNELS; i++) {
		worker->kernels[i] = cl->clCreateKernel(worker->programs[i == SUM], kernel_names[i], &error);
		check(error, "clCreateKernel");
		CHECK(cl->clSetKernelArg(worker->kernels[i], 0, sizeof buffer, &buffer));
		CHECK(cl->clSetKernelArg(worker->kernels[i], 1, sizeof buffer, &buffer));
		if (!options.no_addresses)
			CHECK(cl->clGetKernelInfo(worker->kernels[i], KERNEL_GPU_ADDRESS, sizeof *worker->addresses,
						  &worker->addresses[i], NULL));
		printf("kernel\t%d\t%s\t%#" PRIx64 "\n", getpid(), kernel_names[i], worker->addresses[i]);
	}
}

static void programs_unload(struct worker *worker)
{
	/* Of the first program, the kernels end last; of the second, the program. */
	CHECK(cl->clReleaseProgram(worker->programs[0]));
	for (int i = 0; i < KERNELS; i++)
		CHECK(cl->clReleaseKernel(worker->kernels[i]));
	CHECK(cl->clReleaseProgram(worker->programs[1]));
}

static void launch(struct worker *worker, int site, cl_command_queue queue, int kernel, int count)
{
	static const size_t size = 64;

	for (int i = 0; i < count; i++) {
		if (site == SITE_TASK)
			CHECK(cl->clEnqueueTask(queue, worker->kernels[kernel], 0, NULL, NULL));
		else
			CHECK(cl->clEnqueueNDRangeKernel(queue, worker->kernels[kernel], 1, NULL, &size, NULL, 0, NULL,
							 NULL));
		worker->launches[site][kernel]++;
	}
	/* What is refused is no launch. OpenCL on Level Zero refuses nothing. */
	if (!options.no_addresses && cl->clEnqueueNDRangeKernel(queue, worker->kernels[kernel], 9, NULL, &size, NULL, 0,
								NULL, NULL) == CL_SUCCESS)
		fail("a launch of nine dimensions succeeded");
	__asm__ volatile(""); /* no tail call */
}

SITE void launch_in_order(struct worker *worker, cl_command_queue queue)
{
	launch(worker, SITE_IN_ORDER, queue, ADD, 3);
	launch(worker, SITE_IN_ORDER, queue, SUM, 1);
	CHECK(cl->clFlush(queue));
}

SITE void launch_out_of_order(struct worker *worker, cl_command_queue queue)
{
	launch(worker, SITE_OUT_OF_ORDER, queue, SCALE, 5);
	CHECK(cl->clFlush(queue));
}

SITE void launch_task(struct worker *worker, cl_command_queue queue)
{
	launch(worker, SITE_TASK, queue, SUM, 2);
	CHECK(cl->clFlush(queue));
}

/* clEnqueueNDCountKernelINTEL(): as clEnqueueNDRangeKernel(), with numbers of work groups. */
typedef cl_int enqueue_count(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
			     const size_t *groups, const size_t *group, cl_uint events, const cl_event *list,
			     cl_event *event);

SITE void launch_by_extension(struct worker *worker, cl_command_queue queue)
{
	static const size_t groups = 4, group = 16;
	enqueue_count *enqueue = (enqueue_count *)extension("clEnqueueNDCountKernelINTEL");

	CHECK(enqueue(queue, worker->kernels[ADD], 1, NULL, &groups, &group, 0, NULL, NULL));
	worker->launches[SITE_EXTENSION][ADD]++;
	CHECK(cl->clFlush(queue));
}

/* A copy of a kernel is the same code. */
SITE void launch_clone(struct worker *worker, cl_command_queue queue)
{
	static const size_t size = 64;
	cl_int error;
	cl_kernel clone = cl->clCloneKernel(worker->kernels[SCALE], &error);

	check(error, "clCloneKernel");
	CHECK(cl->clEnqueueNDRangeKernel(queue, clone, 1, NULL, &size, NULL, 0, NULL, NULL));
	worker->launches[SITE_CLONE][SCALE]++;
	CHECK(cl->clReleaseKernel(clone));
	CHECK(cl->clFlush(queue));
}

static cl_command_queue queue_create(cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
	cl_int error;
	cl_command_queue queue = cl->clCreateCommandQueueWithProperties(context, device, list, &error);

	check(error, "clCreateCommandQueueWithProperties");
	return queue;
}

static bool line_came(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 1) > 0;
}

/* Someone else attaches meanwhile, to a program whose kernels were launched before. */
static void line_await(struct worker *worker, cl_command_queue queue)
{
	static const size_t size = 64;

	for (int i = 0; i < KERNELS; i++)
		CHECK(cl->clEnqueueNDRangeKernel(queue, worker->kernels[i], 1, NULL, &size, NULL, 0, NULL, NULL));
	if (pthread_barrier_wait(&all_loaded) == PTHREAD_BARRIER_SERIAL_THREAD) {
		reservations_print(stdout);
		printf("waits\t%d\n", getpid());
		fflush(stdout);
	}
	while (!line_came())
		CHECK(cl->clFlush(queue));
}

static void *worker_run(void *argument)
{
	struct worker *worker = argument;
	cl_command_queue in_order = queue_create(0),
			 out_of_order = queue_create(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

	worker->id = (int)syscall(SYS_gettid);
	for (int turn = 0; turn < options.turns; turn++) {
		if (turn == 0 || options.rebuild)
			programs_load(worker);
		if (options.wait && turn == 0)
			line_await(worker, in_order);
		launch_in_order(worker, in_order);
		launch_out_of_order(worker, out_of_order);
		launch_task(worker, in_order);
		if (!options.no_addresses) {
			launch_by_extension(worker, in_order);
			launch_clone(worker, out_of_order);
		}
		if (options.rebuild)
			programs_unload(worker);
	}
	return NULL;
}

static void run(void)
{
	static struct worker workers[THREADS_MAX];

	memset(workers, 0, sizeof workers);
	pthread_barrier_init(&all_loaded, NULL, (unsigned)options.threads);
	for (int i = 0; i < options.threads; i++) {
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0)
			fail("pthread_create");
	}
	for (int i = 0; i < options.threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < options.threads; i++)
		for (int site = 0; site < SITES; site++)
			for (int kernel = 0; kernel < KERNELS; kernel++)
				if (workers[i].launches[site][kernel])
					printf("launch\t%d\t%d\t%s\t%s\t%" PRIu64 "\n", getpid(), workers[i].id,
					       site_names[site], kernel_names[kernel],
					       workers[i].launches[site][kernel]);
	fflush(stdout);
}

static void invalid_build(void)
{
	const char *source = "kernel void wrong(global int *a) { a[0] = ; }";
	cl_program program = cl->clCreateProgramWithSource(context, 1, &source, NULL, NULL);

	printf("build\t%d\n", cl->clBuildProgram(program, 1, &device, "", NULL, NULL));
	CHECK(cl->clReleaseProgram(program));
}

static void options_read(char **words)
{
	for (; *words; words++) {
		if (strcmp(*words, "--fork") == 0)
			options.fork = true;
		else if (strcmp(*words, "--rebuild") == 0)
			options.rebuild = true;
		else if (strcmp(*words, "--wait") == 0)
			options.wait = true;
		else if (strcmp(*words, "--invalid") == 0)
			options.invalid = true;
		else if (strcmp(*words, "--no-addresses") == 0)
			options.no_addresses = true;
		else if (strcmp(*words, "--loader") == 0 && words[1])
			options.loader = *++words;
		else if (strcmp(*words, "--print-source") == 0)
			exit(fputs(sources[1], stdout) < 0);
		else if (strcmp(*words, "--build") == 0 && words[1])
			options.build = *++words;
		else if (strcmp(*words, "--threads") == 0 && words[1])
			options.threads = atoi(*++words);
		else if (strcmp(*words, "--turns") == 0 && words[1])
			options.turns = atoi(*++words);
		else
			fail("no option %s", *words);
	}
	if (options.threads < 1 || options.threads > THREADS_MAX)
		fail("--threads: 1 to %d", THREADS_MAX);
}

int main(int count, char **words)
{
	cl_int error;

	(void)count;
	options_read(words + 1);
	if (strcmp(options.loader, "own") == 0 || strcmp(options.loader, "driver") == 0)
		own_loader();
	else
		loader_open();
	CHECK(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
	context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "clCreateContext");
	if (options.invalid) {
		invalid_build();
		return 3;
	}
	if (options.fork) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			run();
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status != 0)
			fail("the child ended with %d", status);
	}
	run();
	return 0;
}
