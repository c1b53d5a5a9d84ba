/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that fires Level Zero's probes on request, so that its profile can be compared with the truth. It
 * prints "SITE START END", the addresses of site_a and site_b, then obeys lines of standard input until it ends, and
 * prints "done" after each:
 *
 *     wait                                          until somebody is attached
 *     launch SITE COUNT ADDRESS SIZE NAME [MODULE LIST]
 *     distinct ...                                  the same, each launch with another address
 *     execute LIST COUNT [LAUNCHES]                 LAUNCHES is that many, or -1: unknown
 *     append LIST COUNT PARENT
 *     compile PATH [MODULE]                         without MODULE as the patched runtime does, as launch
 *     unload MODULE
 *     threads THREADS COUNT RATE                    COUNT launches in each thread, RATE a second (0: as fast as can be)
 *                                                   of four kernels of module 1, by turns from both sites
 *
 * SITE is a or b. ADDRESS is hexadecimal. NAME is a word, or -unmapped or -endless: a pointer to no memory, and to text
 * that ends with its page.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "ze_probes.h"

#if defined(__clang__)
#define NOT_INLINED noinline
#else
#define NOT_INLINED noinline, noclone
#endif

#define INSTRUCTION_BASE UINT64_C(0x800000000000)

typedef void fire_function(const struct ze_probes_launch *launch);

/* Each in a section of its own, so that the linker marks where it starts and stops. */
#define SITE(name)                                                                                                     \
	extern const char __start_##name##_code[], __stop_##name##_code[];                                             \
	__attribute__((NOT_INLINED, section(#name "_code"))) static void name(fire_function *fire,                     \
									      const struct ze_probes_launch *launch)   \
	{                                                                                                              \
		fire(launch);                                                                                          \
		__asm__ volatile("" ::: "memory"); /* not a jump */                                                    \
	}
SITE(site_a)
SITE(site_b)

static void sites_print(void)
{
	printf("site_a %#" PRIxPTR " %#" PRIxPTR "\n", (uintptr_t)__start_site_a_code, (uintptr_t)__stop_site_a_code);
	printf("site_b %#" PRIxPTR " %#" PRIxPTR "\n", (uintptr_t)__start_site_b_code, (uintptr_t)__stop_site_b_code);
	fflush(stdout);
}

static const char *endless_text(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		exit(1);
	memset(pages, 'x', page);
	munmap(pages + page, page);
	return pages + page - 100;
}

static const char *name_of(const char *word)
{
	if (strcmp(word, "-unmapped") == 0)
		return (const char *)UINT64_C(0x1000);
	return strcmp(word, "-endless") == 0 ? endless_text() : word;
}

struct worker {
	pthread_t thread;
	uint64_t count, rate;
};

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pause_until(uint64_t time)
{
	struct timespec until = { .tv_sec = (time_t)(time / 1000000000), .tv_nsec = (long)(time % 1000000000) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

static void *worker_run(void *argument)
{
	static const char *const names[] = { "first", "second", "third", "fourth" };
	const struct worker *worker = argument;
	uint64_t begin = now();

	for (uint64_t i = 0; i < worker->count; i++) {
		struct ze_probes_launch launch = { .instruction_base = INSTRUCTION_BASE,
						   .address = INSTRUCTION_BASE + 0x1000 * (i % 4),
						   .size = 0x400,
						   .name = names[i % 4],
						   .module = 1 };
		(i / 4 % 2 ? site_b : site_a)(ze_probes_launch, &launch);
		/* A pause for every 100: it is longer than asked for, which the deadlines make good. */
		if (worker->rate && i % 100 == 99)
			pause_until(begin + (i + 1) * 1000000000 / worker->rate);
	}
	return NULL;
}

static bool threads_run(unsigned count, uint64_t launches, uint64_t rate)
{
	struct worker workers[64];

	if (count > sizeof workers / sizeof workers[0])
		return false;
	for (unsigned i = 0; i < count; i++) {
		workers[i] = (struct worker){ .count = launches, .rate = rate };
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0)
			return false;
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	return true;
}

static bool launches_fire(const char *line)
{
	char site = 0, name[1024];
	uint64_t count;
	struct ze_probes_launch launch = { .instruction_base = INSTRUCTION_BASE };
	bool distinct = strncmp(line, "distinct ", 9) == 0;
	if (!distinct && strncmp(line, "launch ", 7) != 0)
		return false;
	int fields = sscanf(line, "%*s %c %" SCNu64 " %" SCNx64 " %" SCNu64 " %1023s %" SCNu64 " %" SCNu64, &site,
			    &count, &launch.address, &launch.size, name, &launch.module, &launch.list);
	if (fields != 5 && fields != 7)
		return false;
	launch.name = name_of(name);
	for (; count > 0; count--, launch.address += distinct ? 0x1000 : 0)
		(site == 'a' ? site_a : site_b)(fields == 7 ? ze_probes_launch : ze_probes_launch_short, &launch);
	return true;
}

static bool line_obey(const char *line)
{
	char path[4096];
	uint64_t number, count, rate;
	unsigned threads;

	if (strcmp(line, "wait\n") == 0) {
		while (!ze_probes_on())
			pause_until(now() + 1000000);
		return true;
	}
	if (launches_fire(line))
		return true;
	uint64_t parent = 0;
	int64_t launches = 0;
	if (sscanf(line, "execute %" SCNu64 " %" SCNu64 " %" SCNd64, &number, &count, &launches) >= 2 ||
	    sscanf(line, "append %" SCNu64 " %" SCNu64 " %" SCNu64, &number, &count, &parent) == 3) {
		while (count-- > 0)
			ze_probes_execute(number, parent, (uint64_t)launches);
		return true;
	}
	if (strncmp(line, "compile -unmapped", 17) == 0) {
		ze_probes_compile_short(name_of("-unmapped"));
		return true;
	}
	int fields = sscanf(line, "compile %4095s %" SCNu64, path, &number);
	if (fields == 2)
		ze_probes_compile(path, number);
	else if (fields == 1)
		ze_probes_compile_short(path);
	else if (sscanf(line, "unload %" SCNu64, &number) == 1)
		ze_probes_unload(number);
	else if (sscanf(line, "threads %u %" SCNu64 " %" SCNu64, &threads, &count, &rate) == 3)
		return threads_run(threads, count, rate);
	else
		return false;
	return true;
}

int main(void)
{
	char line[8192];

	sites_print();
	while (fgets(line, sizeof line, stdin)) {
		if (!line_obey(line)) {
			fprintf(stderr, "ze_fire: what is %s", line);
			return 2;
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
