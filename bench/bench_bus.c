/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a second over the bus on one thread (emit, take, recycle), against a plain copy of the same batches; through
 * the gate of a source; and with the collector that puts them into a profile.
 */
#include <stdlib.h>
#include <string.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "profile/collector.h"
#include "ratio.h"

/* Batches as cpu-stack sends them: up to 64 KiB. */
#define BATCH_RECORDS 900u
#define BATCHES 1000u
#define BATCHES_PER_TAKE 16u
#define ROUNDS 28
#define STACKS 500u
#define MILLION 1e6
#define GOAL_BUS 20.0 /* million records/s */
#define GOAL_COLLECTED 25.0

static struct iaprof_record_sample samples[BATCH_RECORDS];
static const struct iaprof_batch batch = { .records = samples, .size = sizeof samples, .count = BATCH_RECORDS };

static void make_samples(struct intern *intern)
{
	uint32_t stacks[STACKS];
	for (uint32_t i = 0; i < STACKS; i++) {
		uint64_t addresses[20];
		for (uint32_t k = 0; k < 20; k++)
			addresses[k] = UINT64_C(0x400000) + i * 64 + k * 4096;
		stacks[i] = intern_stack(intern, 1, addresses, 20);
	}
	for (uint32_t i = 0; i < BATCH_RECORDS; i++)
		samples[i] = (struct iaprof_record_sample){
			.header = { .size = sizeof samples[i], .type = IAPROF_RECORD_SAMPLE, .time = 1000 + i },
			.pid = 1,
			.cpu = UINT32_MAX,
			.user_stack = stacks[i % STACKS],
			.value_type = 1,
			.count = 1,
			.value = 10101010,
			.first_time = 1000 + i,
		};
}

/* The copy goes where the bus's copies go: into blocks of 128 KiB, one after the other. */
static double copy_round(char *blocks)
{
	const size_t block_size = (size_t)128 << 10;
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < BATCHES; i++) {
		memcpy(blocks + i % BATCHES_PER_TAKE * block_size, samples, sizeof samples);
		__asm__ volatile("" ::"r"(blocks) : "memory");
	}
	return cpu_seconds_since(begin);
}

/* Without a collector the records are given back as they come. gate NULL: none. */
static double bus_round(struct bus *bus, struct record_gate *gate, struct collector *collector)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < BATCHES; i++) {
		if (bus_emit_through(bus, gate, 1, &batch, 0, NULL))
			exit(EXIT_FAILURE);
		if (i % BATCHES_PER_TAKE != BATCHES_PER_TAKE - 1)
			continue;
		for (struct block *block = bus_take(bus, 0), *next; block; block = next) {
			next = block->next;
			struct iaprof_batch taken = block_batch(block);
			if (collector)
				collector_take(collector, &taken, NULL, NULL);
			bus_recycle(bus, block);
		}
	}
	return cpu_seconds_since(begin);
}

/* What the collector has to know before the samples. */
static void introduce(struct collector *collector)
{
	struct iaprof_record_value_type type = { .header = { .size = sizeof type, .type = IAPROF_RECORD_VALUE_TYPE },
						 .id = 1 };
	struct iaprof_record_process process = { .header = { .size = sizeof process, .type = IAPROF_RECORD_PROCESS },
						 .pid = 1,
						 .event = IAPROF_PROCESS_EXISTING };
	collector_take(collector, &(struct iaprof_batch){ .records = &type, .size = sizeof type, .count = 1 }, NULL,
		       NULL);
	collector_take(collector, &(struct iaprof_batch){ .records = &process, .size = sizeof process, .count = 1 },
		       NULL, NULL);
}

int main(void)
{
	struct record_gate gate = { 0 };
	struct bus *bus = bus_new(BUS_CAPACITY_DEFAULT);
	struct intern *intern = intern_new(NULL);
	struct collector *collector = intern ? collector_new(&(struct collector_options){ .intern = intern }) : NULL;
	char *blocks = calloc(BATCHES_PER_TAKE, (size_t)128 << 10);
	if (!bus || !collector || !blocks)
		return EXIT_FAILURE;
	gate.earliest = 1000; /* as in a source that was started */
	make_samples(intern);
	introduce(collector);

	struct rounds copy = { 0 }, alone = { 0 }, gated = { 0 }, collected = { 0 };
	for (unsigned i = 0; i < ROUNDS; i++) {
		rounds_add(&copy, copy_round(blocks));
		rounds_add(&alone, bus_round(bus, NULL, NULL));
		rounds_add(&gated, bus_round(bus, &gate, NULL));
		rounds_add(&collected, bus_round(bus, NULL, collector));
	}
	double records = (double)BATCHES * BATCH_RECORDS;
	printf("%.1f million SAMPLE records of %zu bytes, in batches of %u; CPU time of one thread\n",
	       records / MILLION, sizeof samples[0], BATCH_RECORDS);
	rounds_print(&copy, "plain copy of the batches", records / MILLION, "million records");
	rounds_print(&alone, "bus: emit, take, recycle", records / MILLION, "million records");
	rounds_print(&gated, "bus, through the gate of a source", records / MILLION, "million records");
	rounds_print(&collected, "bus and collector", records / MILLION, "million records");
	printf("ratio to the plain copy: %.2f (the bus checks each record, and then copies)\n",
	       copy.fastest / alone.fastest);
	printf("through the gate: %.2f of the bus alone\n", alone.fastest / gated.fastest);
	printf("bus: %.2f times the goal of %.0f million records/s\n", records / MILLION / alone.fastest / GOAL_BUS,
	       GOAL_BUS);
	printf("bus and collector: %.2f times the goal of %.0f million records/s; %.3f of the plain copy\n",
	       records / MILLION / collected.fastest / GOAL_COLLECTED, GOAL_COLLECTED,
	       copy.fastest / collected.fastest);

	free(blocks);
	record_gate_free(&gate);
	collector_free(collector);
	intern_free(intern);
	bus_free(bus);
	return EXIT_SUCCESS;
}
