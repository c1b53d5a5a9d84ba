/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that publish spans as OTEP 4947 has it, each in turn for its share of CPU time, and what is not a span.
 * The function that runs identifies it. "program [LIBRARY]": the library defines set_context(), else the
 * program itself. Runs until its standard input is closed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, trace_flags;
	uint16_t attributes_size;
	uint8_t attributes[12];
} __attribute__((packed));

__attribute__((weak)) void set_context(void *record);
static void (*set)(void *);
static volatile int ends;

static uint64_t cpu_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#define PHASE(name)                                                                                                    \
	static __attribute__((noinline)) void name(uint64_t time)                                                      \
	{                                                                                                              \
		for (uint64_t end = cpu_time() + time; cpu_time() < end && !ends;)                                     \
			for (volatile unsigned i = 0; i < 2000; i++)                                                   \
				;                                                                                      \
		__asm__ volatile("" ::: "memory"); /* no tail call */                                                  \
	}
PHASE(span_1)
PHASE(span_2)
PHASE(span_3)
PHASE(span_4)
PHASE(no_record)
PHASE(no_span)
PHASE(being_written)
PHASE(half_a_span)
PHASE(wild_pointer)
PHASE(kernel_pointer)
PHASE(end_of_page)

static const struct {
	void (*run)(uint64_t time);
	unsigned weight;
} phases[] = { { span_1, 1 },       { span_2, 2 },         { span_3, 3 },        { span_4, 4 },
	       { no_record, 1 },    { no_span, 1 },        { being_written, 1 }, { half_a_span, 1 },
	       { wild_pointer, 1 }, { kernel_pointer, 1 }, { end_of_page, 1 } };
#define PHASES (sizeof phases / sizeof *phases)

static void *work(void *name)
{
	struct record records[PHASES];
	void *published[PHASES];
	unsigned seed = *(const char *)name;
	pthread_setname_np(pthread_self(), name);
	memset(records, 0, sizeof records);
	for (size_t i = 0; i < PHASES; i++) {
		memset(records[i].trace_id, *(const char *)name, sizeof records[i].trace_id);
		records[i].span_id[0] = (uint8_t) * (const char *)name;
		records[i].span_id[7] = (uint8_t)(i + 1);
		records[i].valid = 1;
		published[i] = &records[i];
		if (phases[i].run == no_record)
			published[i] = NULL;
		if (phases[i].run == no_span)
			memset(&records[i], 0, offsetof(struct record, valid));
		if (phases[i].run == being_written)
			records[i].valid = 2;
		if (phases[i].run == half_a_span)
			memset(records[i].trace_id, 0, sizeof records[i].trace_id);
		if (phases[i].run == wild_pointer)
			published[i] = (void *)(uintptr_t)0x123456789abc;
		if (phases[i].run == kernel_pointer)
			published[i] = (void *)(uintptr_t)0xffffffff81000000;
	}
	char *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + 4096, 4096, PROT_NONE);
	/* A record without its last byte that is read. */
	published[PHASES - 1] = memcpy(pages + 4096 - 24, &records[PHASES - 1], 24);
	while (!ends)
		for (size_t i = 0; i < PHASES; i++) {
			set(published[i]);
			__asm__ volatile("" ::: "memory");
			/* Not in step with the samples. */
			phases[i].run(phases[i].weight * (500000 + (uint64_t)rand_r(&seed) % 1000000));
			__asm__ volatile("" ::: "memory");
			set(NULL);
		}
	munmap(pages, 2 * 4096);
	return NULL;
}

int main(int argc, char **argv)
{
	static char first[] = "first", second[] = "second";
	pthread_t threads[2];
	char byte;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	set = library ? (void (*)(void *))dlsym(library, "set_context") : set_context;
	if (!set) {
		fprintf(stderr, "no set_context: %s\n", argc > 1 ? dlerror() : "not linked");
		return 1;
	}
	pthread_create(&threads[0], NULL, work, first);
	pthread_create(&threads[1], NULL, work, second);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	ends = 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
