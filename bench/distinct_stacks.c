/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source distinct-stacks: samples with as many different stacks as asked for, all of them in each round, so that the
 * memory of a run can be measured. The stacks are of this process; their addresses are in its C library.
 */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <iaprof/plugin.h>

/* Two addresses to choose from at each level make 65,536 stacks; all of them share the outer levels. */
#define CHOICE_LEVELS 16u
#define SHARED_LEVELS 8u
#define DEPTH (CHOICE_LEVELS + SHARED_LEVELS)
#define ADDRESSES (2 * CHOICE_LEVELS + SHARED_LEVELS)
#define BATCH_RECORDS 500u

struct distinct_stacks {
	uint64_t stacks, rounds, period;
	uint64_t addresses[ADDRESSES];
	uint32_t pid;
};

/* Evenly spread over the first large piece of code that is not the program's: the C library's. */
static int find_code(struct dl_phdr_info *object, size_t size, void *instance)
{
	struct distinct_stacks *distinct = instance;
	if (!strstr(object->dlpi_name, "libc."))
		return 0;
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		for (unsigned k = 0; k < ADDRESSES; k++)
			distinct->addresses[k] =
				object->dlpi_addr + segment->p_vaddr + segment->p_memsz / (ADDRESSES + 1) * (k + 1);
		return 1;
	}
	return 0;
}

static int distinct_start(const struct iaprof_host *host, void *instance)
{
	((struct distinct_stacks *)instance)->pid = (uint32_t)getpid();
	if (!dl_iterate_phdr(find_code, instance))
		return host->fail(host, ENOENT, "no C library was found in this process");
	return 0;
}

static int distinct_stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static uint32_t intern(const struct iaprof_host *host, const struct distinct_stacks *distinct, uint64_t number)
{
	uint64_t addresses[DEPTH];
	for (unsigned level = 0; level < CHOICE_LEVELS; level++)
		addresses[level] = distinct->addresses[2 * level + (number >> level & 1)];
	memcpy(addresses + CHOICE_LEVELS, distinct->addresses + 2 * CHOICE_LEVELS, SHARED_LEVELS * sizeof *addresses);
	return host->intern_stack(host, distinct->pid, addresses, DEPTH);
}

static int distinct_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	const struct distinct_stacks *distinct = instance;
	struct iaprof_record_sample samples[BATCH_RECORDS];
	uint32_t value_type = host->declare_value_type(host, "cpu", "nanoseconds", 10101010);
	struct timespec pause = { .tv_sec = (time_t)(distinct->period / 1000000000),
				  .tv_nsec = (long)(distinct->period % 1000000000) };
	/* The names of the Linux kernel's functions are a part of what an ordinary run holds. */
	uint64_t kernel_address = UINT64_C(0xffffffff81000100);
	for (uint64_t round = 0; round < distinct->rounds && !__atomic_load_n(stopping, __ATOMIC_ACQUIRE); round++) {
		uint32_t kernel_stack = host->intern_stack(host, 0, &kernel_address, 1);
		for (uint64_t number = 0; number < distinct->stacks;) {
			uint32_t count = 0;
			for (; count < BATCH_RECORDS && number < distinct->stacks; count++, number++) {
				uint64_t now = host->clock(host);
				samples[count] = (struct iaprof_record_sample){
					.header = { .size = sizeof *samples,
						    .type = IAPROF_RECORD_SAMPLE,
						    .time = now },
					.pid = distinct->pid,
					.cpu = UINT32_MAX,
					.user_stack = intern(host, distinct, number),
					.kernel_stack = kernel_stack,
					.value_type = value_type,
					.count = 1,
					.value = 10101010,
					.first_time = now,
				};
			}
			struct iaprof_batch batch = { .records = samples,
						      .size = count * sizeof *samples,
						      .count = count };
			int result = host->emit(host, &batch);
			if (result == -EINVAL)
				return result;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct distinct_stacks, stacks, UINT, "stacks", "20000", "How many different stacks there are",
		      .minimum = 1, .maximum = 65536),
	IAPROF_OPTION(struct distinct_stacks, rounds, UINT, "rounds", "10", "How many times each stack is sampled",
		      .minimum = 1, .maximum = 1000000),
	IAPROF_OPTION(struct distinct_stacks, period, DURATION, "period", "100ms", "The pause between two rounds",
		      .minimum = 1000000, .maximum = 1000000000),
};

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = distinct_start,
	.stop = distinct_stop,
	.thread = distinct_thread,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "distinct-stacks",
	.description = "many different stacks, to measure memory with",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct distinct_stacks),
	.source = &operations,
};

IAPROF_REGISTER_PLUGIN(plugin)
