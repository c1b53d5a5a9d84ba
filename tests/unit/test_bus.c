/* SPDX-License-Identifier: Apache-2.0 */
/* The bus: order, bounds, refusal of what is malformed, several producers; and interned strings and stacks. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "bus/record_check.h"

static struct iaprof_record_sample sample(uint64_t value)
{
	return (struct iaprof_record_sample){
		.header = { .size = sizeof(struct iaprof_record_sample),
			    .type = IAPROF_RECORD_SAMPLE,
			    .source = 77,
			    .time = 5 },
		.pid = 1,
		.count = 1,
		.value = value,
	};
}

static int emit_sample(struct bus *bus, uint64_t value, unsigned flags)
{
	struct iaprof_record_sample record = sample(value);
	struct iaprof_batch batch = { .records = &record, .size = sizeof record, .count = 1 };
	return bus_emit(bus, 3, &batch, flags, NULL);
}

/* Takes everything; returns the number of samples and adds up their values. */
static uint64_t take_all(struct bus *bus, uint64_t *sum)
{
	uint64_t count = 0;
	for (struct block *block = bus_take(bus, 0), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		uint32_t records = 0;
		for (const struct iaprof_record *record = iaprof_batch_next(&batch, NULL); record;
		     record = iaprof_batch_next(&batch, record)) {
			records++;
			ck_assert_uint_eq(record->source, 3);
			*sum += ((const struct iaprof_record_sample *)record)->value;
		}
		ck_assert_uint_eq(records, batch.count);
		count += records;
		bus_recycle(bus, block);
	}
	return count;
}

START_TEST(delivers_in_order_and_sets_the_source)
{
	struct bus *bus = bus_new(1 << 20);
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(emit_sample(bus, i, 0), 0);
	uint64_t expected = 0;
	for (struct block *block = bus_take(bus, 0), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = iaprof_batch_next(&batch, NULL); record;
		     record = iaprof_batch_next(&batch, record))
			ck_assert_uint_eq(((const struct iaprof_record_sample *)record)->value, expected++);
		bus_recycle(bus, block);
	}
	ck_assert_uint_eq(expected, 1000);
	bus_free(bus);
}
END_TEST

START_TEST(refuses_beyond_its_capacity_but_never_definitions)
{
	struct bus *bus = bus_new(10 * sizeof(struct iaprof_record_sample));
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(emit_sample(bus, 1, 0), 0);
	ck_assert_int_eq(emit_sample(bus, 1, 0), -ENOSPC);
	ck_assert_int_eq(emit_sample(bus, 1, BUS_ALWAYS), 0);
	uint64_t sum = 0;
	ck_assert_uint_eq(take_all(bus, &sum), 11);
	ck_assert_int_eq(emit_sample(bus, 1, 0), 0);
	bus_free(bus);
}
END_TEST

#define PRODUCERS 4
#define PER_PRODUCER 50000

static void *produce(void *bus)
{
	for (uint64_t i = 0; i < PER_PRODUCER; i++)
		ck_assert_int_eq(emit_sample(bus, i, BUS_WAIT), 0);
	return NULL;
}

START_TEST(waiting_producers_lose_nothing)
{
	struct bus *bus = bus_new(64 << 10);
	pthread_t threads[PRODUCERS];
	for (int i = 0; i < PRODUCERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, bus), 0);
	uint64_t count = 0, sum = 0;
	while (count < PRODUCERS * PER_PRODUCER)
		count += take_all(bus, &sum);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(count, PRODUCERS * PER_PRODUCER);
	ck_assert_uint_eq(sum, PRODUCERS * (uint64_t)PER_PRODUCER * (PER_PRODUCER - 1) / 2);
	bus_free(bus);
}
END_TEST

START_TEST(a_closed_bus_ends_the_wait)
{
	struct bus *bus = bus_new(1 << 20);
	bus_close(bus);
	ck_assert_ptr_null(bus_take(bus, UINT64_MAX));
	ck_assert_int_eq(emit_sample(bus, 1, BUS_ALWAYS), 0); /* the collector's own last words */
	uint64_t sum = 0;
	ck_assert_uint_eq(take_all(bus, &sum), 1);
	bus_free(bus);
}
END_TEST

/* One wrong member each; everything else as in sample(). */
START_TEST(refuses_malformed_batches_whole)
{
	struct bus *bus = bus_new(1 << 20);
	struct iaprof_record_sample records[2];
	struct iaprof_batch batch = { .records = records, .size = sizeof records, .count = 2 };
	struct error error = { 0 };
#define EXPECT_REFUSED(change)                                                                                         \
	do {                                                                                                           \
		records[0] = sample(1);                                                                                \
		records[1] = sample(2);                                                                                \
		error = (struct error){ 0 };                                                                           \
		change;                                                                                                \
		ck_assert_int_eq(bus_emit(bus, 3, &batch, 0, &error), -EINVAL);                                        \
		ck_assert_ptr_nonnull(strstr(error.text, "malformed"));                                                \
		ck_assert_ptr_null(bus_take(bus, 0));                                                                  \
	} while (0)
	EXPECT_REFUSED(records[1].header.size = 0);
	EXPECT_REFUSED(records[1].header.size = 8);
	EXPECT_REFUSED(records[1].header.size = 81);
	EXPECT_REFUSED(records[1].header.size = 4096);
	EXPECT_REFUSED(records[1].header.size = UINT32_MAX - 7);
	EXPECT_REFUSED(records[0].header.size = 64);
	EXPECT_REFUSED(records[1].header.type = 0);
	EXPECT_REFUSED(records[1].count = 0);
	EXPECT_REFUSED(records[1].first_time = 6);
	EXPECT_REFUSED(records[1].header.type = IAPROF_RECORD_SYNC);
	EXPECT_REFUSED(records[1].header.type = IAPROF_RECORD_STRING);
	batch.count = 3;
	EXPECT_REFUSED((void)0);
	batch.count = 2;
	batch.records = (const char *)records + 4;
	batch.size -= 8;
	EXPECT_REFUSED((void)0);
	bus_free(bus);
}
END_TEST

START_TEST(checks_what_each_type_holds)
{
	struct error error = { 0 };
	struct {
		struct iaprof_record_string head;
		char text[8];
	} string = {
		.head = { .header = { .size = sizeof string, .type = IAPROF_RECORD_STRING }, .id = 1, .length = 7 },
		.text = "letters"
	};
	ck_assert_int_eq(record_check(&string, sizeof string, &error), 0);
	string.head.length = 8;
	ck_assert_int_eq(record_check(&string, sizeof string, &error), -EINVAL);
	string.head.length = UINT32_MAX;
	ck_assert_int_eq(record_check(&string, sizeof string, &error), -EINVAL);
	string.head.length = 6;
	ck_assert_int_eq(record_check(&string, sizeof string, &error), -EINVAL);

	struct iaprof_record_mapping mapping = { .header = { .size = sizeof mapping, .type = IAPROF_RECORD_MAPPING },
						 .start = UINT64_MAX - 4095,
						 .size = 4096 };
	ck_assert_int_eq(record_check(&mapping, sizeof mapping, &error), 0);
	mapping.size = 4097;
	ck_assert_int_eq(record_check(&mapping, sizeof mapping, &error), -EINVAL);
	mapping.size = 1;
	mapping.build_id_size = IAPROF_BUILD_ID_SIZE_MAX + 1;
	ck_assert_int_eq(record_check(&mapping, sizeof mapping, &error), -EINVAL);

	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[2];
	} stall = { .head = { .header = { .size = sizeof stall, .type = IAPROF_RECORD_STALL_SAMPLE },
			      .reason_count = 2 } };
	ck_assert_int_eq(record_check(&stall, sizeof stall, &error), 0);
	stall.head.reason_count = 3;
	ck_assert_int_eq(record_check(&stall, sizeof stall, &error), -EINVAL);

	struct iaprof_record unknown = { .size = sizeof unknown, .type = 999 };
	ck_assert_int_eq(record_check(&unknown, sizeof unknown, &error), 0);
	ck_assert_ptr_null(record_type_name(999));
}
END_TEST

START_TEST(defines_each_string_and_stack_once_before_its_use)
{
	struct bus *bus = bus_new(1 << 20);
	struct intern *intern = intern_new(bus);
	const uint64_t addresses[] = { 0x1000, 0x2000 };
	uint32_t text = intern_string(intern, "cpu;x", 3), stack = intern_stack(intern, 9, addresses, 2);
	ck_assert_uint_eq(intern_string(intern, "cpu", 100), text);
	ck_assert_uint_eq(intern_stack(intern, 9, addresses, 2), stack);
	ck_assert_uint_ne(intern_stack(intern, 10, addresses, 2), stack);
	ck_assert_uint_eq(intern_string(intern, "", 0), 0);
	ck_assert_uint_eq(intern_stack(intern, 9, addresses, 0), 0);
	ck_assert_str_eq(intern_text(intern, text), "cpu");
	ck_assert_str_eq(intern_text(intern, 12345), "");
	struct block *block = bus_take(bus, 0);
	struct iaprof_batch batch = block_batch(block);
	ck_assert_uint_eq(batch.count, 3);
	const struct iaprof_record_string *string = (const void *)iaprof_batch_next(&batch, NULL);
	ck_assert_uint_eq(string->header.type, IAPROF_RECORD_STRING);
	ck_assert_uint_eq(string->id, text);
	ck_assert_str_eq(iaprof_record_string_text(string), "cpu");
	const struct iaprof_record_stack *record = (const void *)iaprof_batch_next(&batch, &string->header);
	ck_assert_uint_eq(record->id, stack);
	ck_assert_uint_eq(record->pid, 9);
	ck_assert_mem_eq(iaprof_record_stack_addresses(record), addresses, sizeof addresses);
	/* What comes back from the bus is known already. */
	ck_assert_int_eq(intern_define_string(intern, string), 0);
	ck_assert_int_eq(intern_define_stack(intern, record), 0);
	block_release(block);
	intern_free(intern);
	bus_free(bus);
}
END_TEST

START_TEST(refuses_definitions_that_contradict_or_leap)
{
	struct intern *intern = intern_new(NULL);
	uint32_t id = intern_string(intern, "one", 3);
	struct {
		struct iaprof_record_string head;
		char text[8];
	} string = {
		.head = { .header = { .size = sizeof string, .type = IAPROF_RECORD_STRING }, .id = id, .length = 3 },
		.text = "two"
	};
	ck_assert_int_eq(intern_define_string(intern, &string.head), -EINVAL);
	string.head.id = 1 << 30;
	ck_assert_int_eq(intern_define_string(intern, &string.head), -EINVAL);
	string.head.id = id + 10;
	ck_assert_int_eq(intern_define_string(intern, &string.head), 0);
	ck_assert_str_eq(intern_text(intern, id + 10), "two");
	ck_assert_str_eq(intern_text(intern, id + 5), "");
	/* A text may be told under many ids; the first is the one that it has here. */
	for (string.head.id = id + 11; string.head.id < id + 1000; string.head.id++)
		ck_assert_int_eq(intern_define_string(intern, &string.head), 0);
	ck_assert_str_eq(intern_text(intern, id + 999), "two");
	ck_assert_uint_eq(intern_string(intern, "two", 3), id + 10);
	intern_free(intern);
}
END_TEST

/* Ids that leap again and again must not make a table that is much larger than its texts. */
START_TEST(ids_cannot_leap_far_beyond_the_number_of_texts)
{
	struct intern *intern = intern_new(NULL);
	struct {
		struct iaprof_record_string head;
		char text[8];
	} string = { .head = { .id = 1, .length = 1 }, .text = "a" };
	unsigned taken = 0;
	for (string.head.id = 60000; string.head.id <= 600000; string.head.id += 60000, string.text[0]++)
		taken += !intern_define_string(intern, &string.head);
	ck_assert_uint_eq(taken, 1);
	intern_free(intern);
}
END_TEST

START_TEST(stacks_expire_when_nobody_uses_them)
{
	struct intern *intern = intern_new(NULL);
	uint64_t used = 1;
	for (int epoch = 0; epoch < 100; epoch++) {
		ck_assert_uint_ne(intern_stack(intern, 1, &used, 1), 0);
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t address = (uint64_t)epoch * 1000 + i + 10;
			ck_assert_uint_ne(intern_stack(intern, 1, &address, 1), 0);
		}
		intern_begin_epoch(intern);
		intern_expire_stacks(intern, 2);
		ck_assert_uint_le(intern_stack_count(intern), 2 * 1000 + 1);
	}
	struct interned_stack stack = intern_find_stack(intern, 1);
	ck_assert_uint_eq(stack.count, 1);
	ck_assert_uint_eq(stack.addresses[0], used);
	ck_assert_uint_eq(intern_find_stack(intern, 2).count, 0);
	intern_free(intern);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus");
	TCase *tests = tcase_create("bus");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, delivers_in_order_and_sets_the_source);
	tcase_add_test(tests, refuses_beyond_its_capacity_but_never_definitions);
	tcase_add_test(tests, waiting_producers_lose_nothing);
	tcase_add_test(tests, a_closed_bus_ends_the_wait);
	tcase_add_test(tests, refuses_malformed_batches_whole);
	tcase_add_test(tests, checks_what_each_type_holds);
	tcase_add_test(tests, defines_each_string_and_stack_once_before_its_use);
	tcase_add_test(tests, refuses_definitions_that_contradict_or_leap);
	tcase_add_test(tests, ids_cannot_leap_far_beyond_the_number_of_texts);
	tcase_add_test(tests, stacks_expire_when_nobody_uses_them);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
