/* SPDX-License-Identifier: Apache-2.0 */
/* What the host does for an instance: what is refused is counted whole, a watch may end in its own callback. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "run/instance.h"
#include "../run_suite.h"

struct source {
	const struct iaprof_host *host;
	int event;
	int calls;
};

static int configure(const struct iaprof_host *host, void *memory)
{
	struct source *source = memory;
	source->host = host;
	return 0;
}

static struct plugin plugin = { .description = { .kind = IAPROF_PLUGIN_SOURCE,
						 .name = "test",
						 .instance_size = sizeof(struct source),
						 .configure = configure } };
static struct instance_services services;
static struct instance *instance;
static struct source *source;

static void ended(void *context, struct instance *which)
{
}

static void set_up(void)
{
	services = (struct instance_services){ .bus = bus_new(128), .loop = loop_new(), .ended = ended };
	services.intern = intern_new(services.bus);
	struct instance_configuration configuration = { .plugin = (char *)"test" };
	struct error error = { 0 };
	instance = instance_new(&plugin, &configuration, 1, &services, &error);
	ck_assert_msg(instance != NULL, "%s", error.text);
	ck_assert_int_eq(instance_configure(instance, &error), 0);
	source = instance->memory;
	source->event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void tear_down(void)
{
	close(source->event);
	instance_free(instance);
	loop_free(services.loop);
	intern_free(services.intern);
	bus_free(services.bus);
}

/* What LOST records say: count and value by value type; type 0 are records that are no samples. */
static void add_lost(uint64_t counts[3], uint64_t values[3])
{
	for (struct block *block = bus_take(services.bus, 0), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			const struct iaprof_record_lost *lost = (const void *)record;
			if (record->type != IAPROF_RECORD_LOST)
				continue;
			ck_assert_uint_lt(lost->value_type, 3);
			counts[lost->value_type] += lost->count;
			values[lost->value_type] += lost->value;
		}
		block_release(block);
	}
}

TEST(everything_refused_is_counted)
{
	struct {
		struct iaprof_record_sample samples[3];
		struct iaprof_record_counter_value value;
	} records = { 0 };
	for (size_t i = 0; i < 3; i++)
		records.samples[i] = (struct iaprof_record_sample){ .header = { .size = sizeof records.samples[i],
										.type = IAPROF_RECORD_SAMPLE },
								    .value_type = i < 2 ? 1 : 2,
								    .count = 10,
								    .value = 1000 + i };
	records.value = (struct iaprof_record_counter_value){
		.header = { .size = sizeof records.value, .type = IAPROF_RECORD_COUNTER_VALUE }, .counter = 1
	};
	struct iaprof_batch batch = { .records = &records, .size = sizeof records, .count = 4 };
	uint64_t counts[3] = { 0 }, values[3] = { 0 };
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(source->host->emit(source->host, &batch), 0);
	instance_report_refused(instance);
	instance_report_refused(instance);
	add_lost(counts, values);
	ck_assert_uint_eq(counts[0], 2);
	ck_assert_uint_eq(counts[1], 40);
	ck_assert_uint_eq(values[1], 2 * 2001);
	ck_assert_uint_eq(counts[2], 20);
	ck_assert_uint_eq(values[2], 2 * 1002);
}

/* A source announces a kernel once: without it, all launches of the run would have no name. */
TEST(what_gives_others_a_meaning_is_taken)
{
	struct {
		struct iaprof_record_kernel kernel;
		struct iaprof_record_launch launches[2];
	} records = { .kernel = { .header = { .size = sizeof records.kernel, .type = IAPROF_RECORD_KERNEL },
				  .id = 1 } };
	for (size_t i = 0; i < 2; i++)
		records.launches[i] = (struct iaprof_record_launch){ .header = { .size = sizeof records.launches[i],
										 .type = IAPROF_RECORD_LAUNCH },
								     .kernel = 1,
								     .count = 5 };
	struct iaprof_batch batch = { .records = &records, .size = sizeof records, .count = 3 };
	struct iaprof_batch kernel = { .records = &records, .size = sizeof records.kernel, .count = 1 };
	ck_assert_int_eq(source->host->emit(source->host, &batch), 0);
	ck_assert_int_eq(source->host->emit(source->host, &kernel), 0);
	ck_assert_uint_eq(instance->refused.launches, 10);
	/* That has an end, too. */
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(source->host->emit(source->host, &kernel), 0);
	ck_assert_uint_gt(instance->refused.records, 0);
	uint32_t kernels = 0;
	for (struct block *block = bus_take(services.bus, 0), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch taken = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&taken, record));)
			kernels += record->type == IAPROF_RECORD_KERNEL && record->source == 1;
		block_release(block);
	}
	ck_assert_uint_ge(kernels, 2);
	ck_assert_uint_eq(kernels + instance->refused.records, 12);
}

static int remove_and_fail(const struct iaprof_host *host, void *memory, int fd, uint32_t ready)
{
	struct source *called = memory;
	called->calls++;
	host->remove_fd(host, fd);
	return (host->fail)(host, EIO, "the device is gone"); /* Check has a macro of that name */
}

TEST(a_callback_ends_its_watch_and_fails)
{
	ck_assert_int_eq(source->host->on_fd(source->host, source->event, EPOLLIN, remove_and_fail), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(loop_turn(services.loop, 0), 0);
	ck_assert_int_eq(source->calls, 1);
	ck_assert_ptr_nonnull(strstr(instance->error.text, "the device is gone"));
}

static int count_call(const struct iaprof_host *host, void *memory, int fd, uint32_t ready)
{
	((struct source *)memory)->calls++;
	return 0;
}

TEST(watches_that_ended_are_used_again)
{
	for (int i = 1; i <= 100; i++) {
		ck_assert_int_eq(source->host->on_fd(source->host, source->event, EPOLLIN, count_call), 0);
		ck_assert_int_eq(loop_turn(services.loop, 0), 0);
		ck_assert_int_eq(source->calls, i);
		ck_assert_int_eq(source->host->remove_fd(source->host, source->event), 0);
	}
	ck_assert_uint_eq(instance->watches.count, 1);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
