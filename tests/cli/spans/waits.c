/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that wait in spans as OTEP 4947 has them, and a third one that has been asleep in a span since before it
 * begins. The function that waits identifies the span. Each line of standard input asks for ROUNDS rounds, after
 * which "done" is printed; runs until standard input is closed. "waits fresh": each wait has a span of its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 20

struct record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, trace_flags;
	uint16_t attributes_size;
} __attribute__((packed));

void set_context(void *record);
static int ending[2];
static bool is_fresh;

static void set(struct record *record)
{
	__asm__ volatile("" ::: "memory");
	set_context(record);
	__asm__ volatile("" ::: "memory");
}

#define WAIT(name)                                                                                                     \
	__attribute__((noinline)) void name(unsigned microseconds)                                                     \
	{                                                                                                              \
		usleep(microseconds);                                                                                  \
		__asm__ volatile("" ::: "memory"); /* no tail call */                                                  \
	}
WAIT(span_1)
WAIT(span_2)
WAIT(span_3)
WAIT(no_record)
WAIT(half_a_span)

static struct record record_of(const char *thread, uint8_t span)
{
	struct record record = { .valid = 1 };
	memset(record.trace_id, *thread, sizeof record.trace_id);
	record.span_id[0] = (uint8_t)*thread;
	record.span_id[7] = span;
	return record;
}

static void *work(void *name)
{
	struct record first = record_of(name, 1), second = record_of(name, 2), third = record_of(name, 3), half = third;
	memset(half.trace_id, 0, sizeof half.trace_id);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < ROUNDS; i++) {
		if (is_fresh)
			first.span_id[3] = second.span_id[3] = third.span_id[3] = (uint8_t)(i + 1);
		set(&first);
		span_1(5000);
		set(&second);
		for (int k = 0; k < 10; k++) { /* shorter than those that are recorded each */
			second.span_id[4] = is_fresh ? (uint8_t)k : 0;
			span_2(200);
		}
		set(NULL);
		no_record(2000);
		set(&half);
		half_a_span(2000);
		set(&third);
		span_3(3000);
	}
	set(NULL);
	return NULL;
}

__attribute__((noinline)) void span_4(void)
{
	char byte;
	while (read(ending[0], &byte, 1) > 0)
		;
	__asm__ volatile("" ::: "memory");
}

static void *sleep_throughout(void *name)
{
	struct record record = record_of(name, 4);
	pthread_setname_np(pthread_self(), name);
	set(&record);
	span_4();
	return NULL;
}

int main(int argc, char **argv)
{
	static char names[][8] = { "first", "second", "third" };
	pthread_t threads[2], asleep;
	char line[8];
	is_fresh = argc > 1 && strcmp(argv[1], "fresh") == 0;
	if (pipe(ending) || pthread_create(&asleep, NULL, sleep_throughout, names[2]))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		for (int i = 0; i < 2; i++)
			if (pthread_create(&threads[i], NULL, work, names[i]))
				return 1;
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		puts("done");
		fflush(stdout);
	}
	close(ending[1]);
	pthread_join(asleep, NULL);
	return 0;
}
