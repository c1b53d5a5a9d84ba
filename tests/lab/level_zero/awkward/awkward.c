/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels in ways that a tracer must not stumble over: awkward MODULE KERNEL WAY [immediate]. On standard
 * output a line "launched N" says how many launches were made in WAY; every one of them has the functions way_WAY and
 * launch_here on its stack. immediate: on immediate lists, so that they execute. The exit status is 0 unless something
 * went wrong.
 */
#include <errno.h>
#include <level_zero/ze_api.h>

#include <alloca.h>
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <level_zero/loader/ze_loader.h> /* uses bool, and includes nothing for it */

#include "../one_module.h"

#define WANT(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "not so: %s\n", #condition);                                                   \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)
#define FUNCTION __attribute__((noipa)) static
#define RETURN_HERE __asm__ volatile("" ::: "memory")

static const char *kernel_name;
static bool immediate;
static _Atomic unsigned launched;

/* What one thread launches with. */
struct launcher {
	ze_command_list_handle_t list;
	ze_kernel_handle_t kernel;
};
static struct launcher first;

static void launcher_open(struct launcher *launcher)
{
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel_name };

	CHECK(zeKernelCreate(module, &kernel, &launcher->kernel));
	CHECK(zeKernelSetGroupSize(launcher->kernel, 1, 1, 1));
	if (immediate)
		CHECK(zeCommandListCreateImmediate(context, device, &queue, &launcher->list));
	else
		CHECK(zeCommandListCreate(context, device, &list, &launcher->list));
}

static void launcher_close(struct launcher *launcher)
{
	CHECK(zeCommandListDestroy(launcher->list));
	CHECK(zeKernelDestroy(launcher->kernel));
}

FUNCTION void launch_here(struct launcher *launcher)
{
	static const ze_group_count_t group = { 1, 1, 1 };

	errno = 4711;
	CHECK(zeCommandListAppendLaunchKernel(launcher->list, launcher->kernel, &group, NULL, 0, NULL));
	WANT(errno == 4711);
	launched++;
}

/* Thousands of threads that launch once and end. */
FUNCTION void *way_threads(void *argument)
{
	struct launcher launcher;

	launcher_open(&launcher);
	launch_here(&launcher);
	launcher_close(&launcher);
	return argument;
}

static void threads(void)
{
	pthread_t running[16];

	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 16; i++)
			WANT(pthread_create(&running[i], NULL, way_threads, NULL) == 0);
		for (unsigned i = 0; i < 16; i++)
			pthread_join(running[i], NULL);
	}
}

/* Children that are forked while threads launch, and that go through the tracer's own exit. */
static _Atomic bool forks_done;
FUNCTION void *way_forks(void *argument)
{
	struct launcher launcher;

	launcher_open(&launcher);
	for (unsigned i = 0; !forks_done || i < 10; i++) {
		launch_here(&launcher);
		if (!immediate)
			CHECK(zeCommandListReset(launcher.list));
		usleep(1000); /* so many launches that each can be looked at */
	}
	launcher_close(&launcher);
	return argument;
}

static void forks(void)
{
	pthread_t running[4];

	for (unsigned i = 0; i < 4; i++)
		WANT(pthread_create(&running[i], NULL, way_forks, NULL) == 0);
	for (unsigned i = 0; i < 100; i++) {
		int status;
		pid_t child = fork();

		WANT(child >= 0);
		if (child == 0) {
			alarm(20);
			free(malloc(100000));
			_exit(0);
		}
		WANT(waitpid(child, &status, 0) == child && status == 0);
	}
	forks_done = true;
	for (unsigned i = 0; i < 4; i++)
		pthread_join(running[i], NULL);
}

/* Frames whose size changes from call to call, at one depth and at many. */
FUNCTION void frame_of(unsigned bytes, unsigned rest)
{
	volatile char *room = alloca(bytes + 1);

	room[bytes] = 1;
	if (rest)
		frame_of((bytes * 7 + 13) % 300, rest - 1);
	else
		launch_here(&first);
	RETURN_HERE;
}

FUNCTION void way_alloca(void)
{
	for (unsigned i = 0; i < 3000; i++)
		frame_of(i % 173, i % 11);
	RETURN_HERE;
}

/* In a signal's handler, on the thread's stack and on another. */
FUNCTION void on_signal(int number)
{
	(void)number;
	launch_here(&first);
	RETURN_HERE;
}

FUNCTION void way_signals(void)
{
	static char other[1 << 18];
	struct sigaction action = { .sa_handler = on_signal };
	stack_t stack = { .ss_sp = other, .ss_size = sizeof other };

	WANT(sigaltstack(&stack, NULL) == 0);
	for (unsigned i = 0; i < 200; i++) {
		action.sa_flags = i % 2 ? SA_ONSTACK : 0;
		WANT(sigaction(SIGUSR1, &action, NULL) == 0);
		raise(SIGUSR1);
	}
	RETURN_HERE;
}

/* On stacks that come and go at one address, with sizes of their own. */
static ucontext_t back, coroutine;
FUNCTION void way_coroutines(void)
{
	launch_here(&first);
	RETURN_HERE;
}

static void coroutines(void)
{
	char *place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	WANT(place != MAP_FAILED);
	for (unsigned i = 0; i < 500; i++) {
		size_t size = (size_t)(64 + i % 3 * 32) << 10;

		WANT(mprotect(place, size, PROT_READ | PROT_WRITE) == 0);
		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = place;
		coroutine.uc_stack.ss_size = size;
		coroutine.uc_link = &back;
		makecontext(&coroutine, way_coroutines, 0);
		WANT(swapcontext(&back, &coroutine) == 0);
		WANT(mmap(place, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
	}
}

/* A request to end the thread that waits for its next cancellation point, which must not be one of the tracer's. */
static _Atomic unsigned cancelled;
FUNCTION void *way_cancel(void *argument)
{
	struct launcher launcher;

	launcher_open(&launcher);
	pthread_cancel(pthread_self());
	launch_here(&launcher);
	launcher_close(&launcher);
	cancelled++;
	pthread_testcancel();
	return argument;
}

static void cancel(void)
{
	for (unsigned i = 0; i < 50; i++) {
		pthread_t thread;
		void *result;

		WANT(pthread_create(&thread, NULL, way_cancel, NULL) == 0);
		WANT(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	}
	WANT(cancelled == 50);
}

/* The program uses the tracing layer itself, turns it on and off, and is told of its own launches. */
static _Atomic unsigned own_count;
static void own_launch(ze_command_list_append_launch_kernel_params_t *parameters, ze_result_t result, void *data,
		       void **call)
{
	(void)parameters, (void)result, (void)data, (void)call;
	own_count++;
}

FUNCTION void way_tracer(void)
{
	zel_tracer_desc_t description = { .stype = ZEL_STRUCTURE_TYPE_TRACER_DESC, .pUserData = &own_count };

	for (unsigned i = 0; i < 50; i++) {
		unsigned before = own_count;
		zel_tracer_handle_t tracer;

		CHECK(zelEnableTracingLayer());
		CHECK(zelTracerCreate(&description, &tracer));
		CHECK(zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE,
									     own_launch));
		CHECK(zelTracerSetEnabled(tracer, true));
		launch_here(&first);
		launch_here(&first);
		CHECK(zelTracerSetEnabled(tracer, false));
		WANT(own_count == before + 2);
		launch_here(&first);
		CHECK(zelTracerDestroy(tracer));
		CHECK(zelDisableTracingLayer());
		launch_here(&first);
		WANT(own_count == before + 2);
	}
	RETURN_HERE;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = { { "threads", threads },     { "forks", forks },           { "alloca", way_alloca },
		     { "signals", way_signals }, { "coroutines", coroutines }, { "cancel", cancel },
		     { "tracer", way_tracer } };

	immediate = argc == 5 && strcmp(argv[4], "immediate") == 0;
	if (argc != 4 && !immediate) {
		fputs("usage: awkward MODULE KERNEL WAY [immediate]\n", stderr);
		return 2;
	}
	kernel_name = argv[2];
	CHECK(zeInit(0));
	module_open(argv[1]);
	launcher_open(&first);
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(argv[3], ways[i].name) == 0)
			ways[i].run();
	launcher_close(&first);
	CHECK(zeModuleDestroy(module));
	CHECK(zeContextDestroy(context));
	printf("launched %u\n", launched);
	return 0;
}
