/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of GPU kernels from call chains that are known by construction, for test_launches.py: rounds of all
 * scenarios, until standard input ends. A kernel's name is SCENARIO@ROUND. The probes are those of a runtime, without a
 * chain of frames, or with "chain" as argument the ones of iaprof's tracer. With a number as argument: launches from ten
 * calls deep at 10 ms each until a line comes, then so many at once. Prints a line when a profiler is there, and one
 * with the time that each of many took.
 */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "keep.h"
#define BASE UINT64_C(0x800000000000)

struct frame {
	const frame *next;
	const void *address;
};
/* plugins/ze-usdt/tracer/probe_sites.S */
extern "C" void probe_launch_kernel(uint64_t base, uint64_t address, uint64_t size, const char *name, uint64_t module,
				    uint64_t list, uint64_t stack, const frame *chain);
extern "C" volatile unsigned short level_zero_launch_kernel_semaphore;

int main(int argc, char **argv);

static char name[64];
static uint64_t address;

KEEP void launch(void)
{
	/* libbpf reads no arguments in static variables. */
	uint64_t place = address;
	asm volatile("" : "+r"(place));
	STAP_PROBE4(level_zero, launch_kernel, BASE, place, UINT64_C(64), (const char *)name);
	AFTER;
}

#define INNERMOST launch
#define INNERMOST_FRAMELESS launch
#include "shapes.h"

static int compare(const void *left, const void *right)
{
	if (left != right)
		launch();
	return 0;
}

/* Called by a library: two elements are compared once. */
KEEP void through_library(void)
{
	int numbers[] = { 1, 2 };
	qsort(numbers, 2, sizeof *numbers, compare);
	AFTER;
}

KEEP void *in_thread(void *)
{
	launch();
	AFTER;
	return NULL;
}

KEEP void thread(void)
{
	pthread_t other;
	pthread_create(&other, NULL, in_thread, NULL);
	pthread_join(other, NULL);
}

/* As the tracer does for a stack that it has unwound itself: links need not be on the stack. */
KEEP void chain(int depth)
{
	static frame links[2000];
	for (int i = 0; i < depth; i++)
		links[i] = { i + 1 < depth ? &links[i + 1] : NULL,
			     (const char *)(i ? (void *)recursive : (void *)with_alloca) + 1 };
	links[depth - 1].address = (const char *)main + 1;
	probe_launch_kernel(BASE, address, 64, name, 1, 0, 0, links);
	AFTER;
}

static void scenario(const char *what, unsigned long round)
{
	snprintf(name, sizeof name, "%s@%lu", what, round);
	address += 0x1000;
}

static void runtime_round(unsigned long round)
{
	address = BASE;
	scenario("frameless", round);
	frameless_one();
	scenario("alloca", round);
	with_alloca(1000 + round % 7);
	scenario("realigned", round);
	realigned(1000 + round % 7);
	scenario("recursion", round);
	recursive(300);
	scenario("bottomless", round);
	recursive(1500);
	scenario("tail", round);
	tail_jump();
	scenario("signal", round);
	interrupted();
	scenario("exception", round);
	catcher();
	scenario("library", round);
	through_library();
	scenario("thread", round);
	thread();
}

static void tracer_round(unsigned long round)
{
	address = BASE + (round << 20);
	scenario("chain", round);
	chain(300);
	scenario("bottomless-chain", round);
	chain(1500);
}

static bool is_over(int milliseconds)
{
	pollfd input = { STDIN_FILENO, POLLIN, 0 };
	return poll(&input, 1, milliseconds) != 0;
}

static uint64_t now(void)
{
	timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void many(unsigned long count)
{
	scenario("many", 0);
	uint64_t begin = now();
	for (unsigned long i = 0; i < count; i++)
		recursive(7);
	printf("%lu\n", (unsigned long)((now() - begin) / count));
	fflush(stdout);
	while (!is_over(100))
		;
}

int main(int argc, char **argv)
{
	bool has_chain = argc > 1 && strcmp(argv[1], "chain") == 0;
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	sigaction(SIGUSR1, &action, NULL);
	while (!level_zero_launch_kernel_semaphore && !is_over(10))
		;
	puts("begins");
	fflush(stdout);
	if (argc > 1 && !has_chain) {
		char line[8];
		scenario("early", 0);
		while (!is_over(10))
			recursive(7);
		if (fgets(line, sizeof line, stdin))
			many(strtoul(argv[1], NULL, 10));
		return 0;
	}
	for (unsigned long round = 0; !is_over(10); round++)
		has_chain ? tracer_round(round) : runtime_round(round);
	return 0;
}
