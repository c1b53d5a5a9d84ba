/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that publish spans as OTEP 4947 has it and fire the probes of Level Zero's launches under them. Obeys
 * lines of standard input until it ends, and prints "done" after each:
 *
 *     launch ROUNDS   in each thread, immediate launches under four spans and under none, by turns
 *     lists           the first thread records launches in a command list under a span, and executes it under others
 *     spans COUNT     the main thread launches the kernel "one" once under each of so many spans
 *
 * Behind that, it prints what it has launched: "THREAD SPAN KERNEL COUNT", with span 0 for none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../programs/ze_probes.h"

#define SPANS 5 /* with none */
#define KERNELS 3
#define LIST 7

struct record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, trace_flags;
	uint16_t attributes_size;
} __attribute__((packed));

struct worker {
	pthread_t thread;
	char name[8];
	unsigned rounds;
	struct record records[SPANS];
	unsigned long counts[SPANS][KERNELS];
};

static const char *const kernels[KERNELS] = { "add", "multiply", "transpose" };

void set_context(void *record);

static struct ze_probes_launch launch_of(unsigned kernel)
{
	return (struct ze_probes_launch){ .instruction_base = 0x800000000000,
					  .address = 0x800000001000 + 0x1000 * (uint64_t)kernel,
					  .size = 64,
					  .name = kernels[kernel] };
}

static void publish(struct worker *worker, unsigned span)
{
	set_context(span ? &worker->records[span] : NULL);
	__asm__ volatile("" ::: "memory");
}

/* Often enough that the sums of spans and of kernels can be distinguished. */
static void *launch(void *context)
{
	struct worker *worker = context;
	pthread_setname_np(pthread_self(), worker->name);
	for (unsigned round = 0; round < worker->rounds; round++)
		for (unsigned span = 0; span < SPANS; span++) {
			publish(worker, span);
			for (unsigned kernel = 0; kernel < KERNELS; kernel++)
				for (unsigned i = 0; i < 1 + span * (kernel + 1); i++) {
					struct ze_probes_launch fired = launch_of(kernel);
					ze_probes_launch_short(&fired);
					worker->counts[span][kernel]++;
				}
		}
	publish(worker, 0);
	return NULL;
}

static void execute(struct worker *worker, unsigned span, unsigned times)
{
	publish(worker, span);
	for (unsigned i = 0; i < times; i++)
		ze_probes_execute(LIST, 0, 2);
	worker->counts[span][0] += times;
	worker->counts[span][1] += times;
}

static void record_and_execute(struct worker *worker)
{
	publish(worker, 1);
	for (unsigned kernel = 0; kernel < 2; kernel++) {
		struct ze_probes_launch fired = launch_of(kernel);
		fired.module = 1;
		fired.list = LIST;
		ze_probes_launch(&fired);
	}
	execute(worker, 2, 30);
	execute(worker, 0, 400);
	execute(worker, 3, 5000);
	publish(worker, 0);
}

static unsigned long launched_under_spans;

static void launch_under_spans(unsigned count)
{
	launched_under_spans += count;
	struct record record = { .trace_id = "fffffffffffffff", .valid = 1 };
	for (unsigned span = 1; span <= count; span++) {
		struct ze_probes_launch fired = launch_of(0);
		fired.name = "one";
		memcpy(record.span_id, &span, sizeof span);
		set_context(&record);
		ze_probes_launch_short(&fired);
	}
	set_context(NULL);
}

int main(void)
{
	static struct worker workers[2];
	char line[64];
	for (unsigned i = 0; i < 2; i++) {
		snprintf(workers[i].name, sizeof workers[i].name, i ? "second" : "first");
		for (unsigned span = 1; span < SPANS; span++) {
			memset(workers[i].records[span].trace_id, workers[i].name[0], 16);
			workers[i].records[span].span_id[7] = (uint8_t)span;
			workers[i].records[span].valid = 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(line, "lists\n") == 0)
			record_and_execute(&workers[0]);
		if (strncmp(line, "spans ", 6) == 0)
			launch_under_spans((unsigned)atoi(line + 6));
		for (unsigned i = 0; i < 2 && strncmp(line, "launch ", 7) == 0; i++) {
			workers[i].rounds = (unsigned)atoi(line + 7);
			pthread_create(&workers[i].thread, NULL, launch, &workers[i]);
		}
		for (unsigned i = 0; i < 2 && strncmp(line, "launch ", 7) == 0; i++)
			pthread_join(workers[i].thread, NULL);
		puts("done");
		fflush(stdout);
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned span = 0; span < SPANS; span++)
			for (unsigned kernel = 0; kernel < KERNELS; kernel++)
				printf("%s %u %s %lu\n", workers[i].name, span, kernels[kernel],
				       workers[i].counts[span][kernel]);
	printf("main 0 one %lu\n", launched_under_spans);
	return 0;
}
