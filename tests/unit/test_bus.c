/* SPDX-License-Identifier: Apache-2.0 */
/* The bus: order, bounds, refusal of what is malformed, several producers; and interned strings and stacks. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/clock.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "bus/record_check.h"
#include "../run_suite.h"

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

/* Records of all sizes, so that they and their headers end anywhere in what is copied at a time; one is larger. */
TEST_LOOP(every_record_gets_its_source_and_nothing_else, 0, 2)
{
	enum { WORDS = 20000, LARGE = 600 };
	static uint64_t words[WORDS];
	bool keeps = _i;
	struct iaprof_batch batch = { .records = words };
	for (size_t at = 0, size = 2; at + LARGE <= WORDS; at += size) {
		size = batch.count == 50 ? LARGE : 2 + batch.count % 23;
		memset(words + at, 0x5a, size * sizeof *words);
		*(struct iaprof_record *)(words + at) =
			(struct iaprof_record){ .size = (uint32_t)(size * sizeof *words),
						.type = IAPROF_RECORD_TYPE_COUNT,
						.source = (uint16_t)(7 + batch.count) };
		batch.count++;
		batch.size += size * sizeof *words;
	}
	struct bus *bus = bus_new(1 << 20);
	ck_assert_int_eq(bus_emit(bus, 3, &batch, keeps ? BUS_KEEP_SOURCE : 0, NULL), 0);
	struct block *block = bus_take(bus, 0);
	ck_assert_ptr_nonnull(block);
	ck_assert_ptr_null(block->next);
	ck_assert_uint_eq(block->size, batch.size);
	struct iaprof_batch taken = block_batch(block);
	uint32_t count = 0;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&taken, record)); count++) {
		ck_assert_uint_eq(record->source, keeps ? 7 + count : 3);
		((struct iaprof_record *)record)->source = (uint16_t)(7 + count);
	}
	ck_assert_uint_eq(count, batch.count);
	ck_assert_mem_eq(block->records, words, batch.size);
	bus_recycle(bus, block);
	bus_free(bus);
}

TEST(refuses_beyond_its_capacity_but_never_definitions)
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

static int emit_of(struct bus *bus, uint16_t source, unsigned flags)
{
	struct iaprof_record_sample sample = { .header = { .size = sizeof sample, .type = IAPROF_RECORD_SAMPLE },
					       .count = 1 };
	struct iaprof_batch batch = { .records = &sample, .size = sizeof sample, .count = 1 };
	return bus_emit(bus, source, &batch, flags, NULL);
}

/* Also beside losses, which are always accepted. */
TEST_LOOP(a_source_has_its_share_beside_one_that_floods, 0, 2)
{
	unsigned flags = _i ? BUS_ALWAYS : 0;
	struct bus *bus = bus_new(10 * sizeof(struct iaprof_record_sample));
	ck_assert_int_eq(emit_of(bus, 1, 0), 0);
	for (int i = 0; i < 100; i++)
		emit_of(bus, 2, flags);
	ck_assert_int_eq(emit_of(bus, 2, 0), -ENOSPC);
	for (int i = 1; i < 5; i++)
		ck_assert_int_eq(emit_of(bus, 1, 0), 0);
	ck_assert_int_eq(emit_of(bus, 1, 0), -ENOSPC);    /* half of the capacity */
	ck_assert_int_eq(emit_of(bus, 0, BUS_ALWAYS), 0); /* the core, which has no share */
	uint32_t count = 0;
	for (struct block *block = bus_take(bus, 0), *next; block; block = next) {
		next = block->next;
		count += block->count;
		bus_recycle(bus, block);
	}
	ck_assert_uint_eq(count, _i ? 106 : 15);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(emit_of(bus, 1, 0), 0);
	bus_free(bus);
}

TEST(the_reserve_is_as_much_again)
{
	struct bus *bus = bus_new(10 * sizeof(struct iaprof_record_sample));
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(emit_sample(bus, 1, 0), 0);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(emit_sample(bus, 1, 0), -ENOSPC);
		ck_assert_int_eq(emit_sample(bus, 1, BUS_RESERVE), 0);
	}
	ck_assert_int_eq(emit_sample(bus, 1, BUS_RESERVE), -ENOSPC);
	ck_assert_int_eq(emit_sample(bus, 1, BUS_ALWAYS), 0);
	uint64_t sum = 0;
	ck_assert_uint_eq(take_all(bus, &sum), 21);
	bus_set_capacity(bus, sizeof(struct iaprof_record_sample));
	ck_assert_int_eq(emit_sample(bus, 1, 0), 0);
	ck_assert_int_eq(emit_sample(bus, 1, 0), -ENOSPC);
	ck_assert_int_eq(emit_sample(bus, 1, BUS_RESERVE), 0);
	ck_assert_int_eq(emit_sample(bus, 1, BUS_RESERVE), -ENOSPC);
	bus_free(bus);
}

/* A batch that is larger than all room does not wait for ever, and one that waits for room has it when all is taken. */
TEST(a_large_batch_waits_for_an_empty_bus_only)
{
	struct bus *bus = bus_new(1);
	ck_assert_int_eq(emit_sample(bus, 7, BUS_WAIT), 0);
	bus_close(bus);
	ck_assert_int_eq(emit_sample(bus, 8, BUS_WAIT), 0);
	uint64_t sum = 0;
	ck_assert_uint_eq(take_all(bus, &sum), 2);
	ck_assert_uint_eq(sum, 15);
	bus_free(bus);
}

/* Batches of every size, smaller and larger than a block, come out as they came in, in as few blocks as they fit in. */
TEST(blocks_are_filled_in_order)
{
	enum { RECORDS = 6000, LARGE = 2000 };
	static struct iaprof_record_sample records[LARGE];
	struct bus *bus = bus_new(SIZE_MAX / 2);
	uint64_t sent = 0, taken = 0, blocks = 0, size = 0, capacity = 0;
	while (sent < RECORDS) {
		uint32_t count = sent % 5 ? 100 : LARGE;
		for (uint32_t i = 0; i < count; i++)
			records[i] = sample(sent++);
		struct iaprof_batch batch = { .records = records, .size = count * sizeof *records, .count = count };
		ck_assert_int_eq(bus_emit(bus, 3, &batch, 0, NULL), 0);
	}
	struct iaprof_batch nothing = { 0 };
	ck_assert_int_eq(bus_emit(bus, 3, &nothing, 0, NULL), 0);
	for (struct block *block = bus_take(bus, 0), *next; block; block = next, blocks++) {
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
			ck_assert_uint_eq(((const struct iaprof_record_sample *)record)->value, taken++);
		ck_assert_uint_le(block->size, block->capacity);
		size += block->size;
		capacity = capacity && block->capacity > capacity ? capacity : block->capacity;
		next = block->next;
		bus_recycle(bus, block);
	}
	ck_assert_uint_eq(taken, sent);
	ck_assert_uint_eq(size, sent * sizeof *records);
	/* A batch finds no room in the last block only when it is larger than what is left of it. */
	ck_assert_uint_le(blocks, 2 * (size / capacity) + 2);
	ck_assert_ptr_null(bus_take(bus, 0));
	bus_free(bus);
}

/* The memory of a block that somebody else still refers to is not used for later records. */
TEST(blocks_are_used_again_when_nobody_refers_to_them)
{
	struct bus *bus = bus_new(1 << 20);
	ck_assert_int_eq(emit_sample(bus, 1, 0), 0);
	struct block *first = bus_take(bus, 0), *kept = block_reference(first);
	bus_recycle(bus, first);
	ck_assert_int_eq(emit_sample(bus, 2, 0), 0);
	struct block *second = bus_take(bus, 0);
	ck_assert_ptr_ne(second, kept);
	ck_assert_uint_eq(((struct iaprof_record_sample *)kept->records)->value, 1);
	ck_assert_uint_eq(kept->count, 1);
	block_release(kept);
	bus_recycle(bus, second);
	ck_assert_int_eq(emit_sample(bus, 3, 0), 0);
	struct block *third = bus_take(bus, 0);
	ck_assert_ptr_eq(third, second);
	ck_assert_ptr_null(third->next);
	ck_assert_uint_eq(third->count, 1);
	ck_assert_uint_eq(third->size, sizeof(struct iaprof_record_sample));
	ck_assert_uint_eq(((struct iaprof_record_sample *)third->records)->value, 3);
	bus_recycle(bus, third);
	bus_recycle(bus, NULL);
	for (uint64_t i = 0; i < 100; i++) {
		ck_assert_int_eq(emit_sample(bus, i, 0), 0);
		third = bus_take(bus, 0);
		ck_assert_ptr_eq(third, second);
		bus_recycle(bus, third);
	}
	bus_free(bus);
}

/* Many blocks at once: all come back, whichever of them are kept for later. */
TEST(many_blocks_are_recycled)
{
	enum { RECORDS = 40000 };
	struct bus *bus = bus_new(SIZE_MAX / 2);
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < RECORDS; i++)
			ck_assert_int_eq(emit_sample(bus, i, 0), 0);
		uint64_t sum = 0;
		ck_assert_uint_eq(take_all(bus, &sum), RECORDS);
		ck_assert_uint_eq(sum, (uint64_t)RECORDS * (RECORDS - 1) / 2);
	}
	ck_assert_int_eq(emit_sample(bus, 1, 0), 0);
	bus_free(bus); /* with what nobody has taken */
}

TEST(a_block_that_is_mostly_empty_is_copied)
{
	struct block *block = block_new(64);
	ck_assert_ptr_nonnull(block);
	memset(block->records, 'x', 64);
	block->size = 32;
	block->count = 2;
	struct block *same = block_compact(block);
	ck_assert_ptr_eq(same, block);
	block_release(same);
	block->size = 24;
	block->count = 1;
	struct block *copy = block_compact(block);
	ck_assert_ptr_ne(copy, block);
	ck_assert_uint_eq(copy->size, 24);
	ck_assert_uint_eq(copy->count, 1);
	ck_assert_uint_eq(copy->capacity, 24);
	ck_assert_mem_eq(copy->records, block->records, 24);
	block_release(block);
	block_release(copy);
	block_release(NULL);
}

/* The core's own records keep their source, and are refused from anybody else. */
TEST(records_of_the_core_are_the_core_s)
{
	struct bus *bus = bus_new(1);
	struct iaprof_record_sync sync = {
		.header = { .size = sizeof sync, .type = IAPROF_RECORD_SYNC, .source = 9, .time = 4 }
	};
	struct iaprof_batch batch = { .records = &sync, .size = sizeof sync, .count = 1 };
	struct error error = { 0 };
	ck_assert_int_eq(bus_emit(bus, 3, &batch, BUS_ALWAYS, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "SYNC is for the core to send"));
	ck_assert_int_eq(bus_send(NULL, &sync.header), 0);
	ck_assert_int_eq(bus_send(bus, &sync.header), 0);
	ck_assert_int_eq(bus_send(bus, &sync.header), 0);
	struct block *block = bus_take(bus, 0);
	ck_assert_uint_eq(block->count, 2);
	ck_assert_uint_eq(((struct iaprof_record *)block->records)->source, 9);
	ck_assert_uint_eq(((struct iaprof_record *)block->records)->time, 4);
	block_release(block);
	batch.size = 0;
	ck_assert_int_eq(bus_emit(bus, 3, &batch, BUS_ALWAYS, &error), -EINVAL);
	ck_assert_ptr_null(bus_take(bus, 0));
	bus_free(bus);
}

/* A consumer that waits, with any limit, gets what is sent meanwhile. */
static void *emit_later(void *bus)
{
	usleep(20000);
	emit_sample(bus, 1, 0);
	return NULL;
}

TEST_LOOP(a_waiting_consumer_gets_what_comes, 0, 4)
{
	const uint64_t limits[] = { UINT64_MAX, UINT64_C(3600000000000), UINT64_C(3600999999999),
				    UINT64_C(3600500000000) };
	struct bus *bus = bus_new(1 << 20);
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, emit_later, bus), 0);
	struct block *block = bus_take(bus, limits[_i]);
	ck_assert_ptr_nonnull(block);
	ck_assert_uint_eq(block->count, 1);
	pthread_join(thread, NULL);
	bus_recycle(bus, block);
	ck_assert_ptr_null(bus_take(bus, 1000000)); /* nothing comes, and the wait ends */
	bus_free(bus);
}

/* Each try waits most of a second, so that the record comes before they are used up. */
TEST(a_consumer_waits_as_long_as_it_states)
{
	struct bus *bus = bus_new(1 << 20);
	pthread_t thread;
	struct block *block = NULL;
	ck_assert_int_eq(pthread_create(&thread, NULL, emit_later, bus), 0);
	for (int i = 0; !block && i < 100; i++)
		block = bus_take(bus, 999999999);
	ck_assert_ptr_nonnull(block);
	pthread_join(thread, NULL);
	bus_recycle(bus, block);
	bus_free(bus);
}

static void *close_later(void *bus)
{
	usleep(20000);
	bus_close(bus);
	return NULL;
}

/* _i 0: a consumer waits for records, 1: a producer for room. */
TEST_LOOP(closing_ends_every_wait, 0, 2)
{
	struct bus *bus = bus_new(1);
	pthread_t thread;
	ck_assert_int_eq(emit_sample(bus, 1, 0), -ENOSPC);
	ck_assert_int_eq(_i ? emit_sample(bus, 1, BUS_WAIT) : 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, close_later, bus), 0);
	if (_i)
		ck_assert_int_eq(emit_sample(bus, 2, BUS_WAIT), 0);
	else
		ck_assert_ptr_null(bus_take(bus, UINT64_MAX));
	pthread_join(thread, NULL);
	bus_free(bus);
}

#define PRODUCERS 4
#define PER_PRODUCER 50000

static void *produce(void *bus)
{
	for (uint64_t i = 0; i < PER_PRODUCER; i++)
		ck_assert_int_eq(emit_sample(bus, i, BUS_WAIT), 0);
	return NULL;
}

TEST(waiting_producers_lose_nothing)
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

TEST(a_closed_bus_ends_the_wait)
{
	struct bus *bus = bus_new(1 << 20);
	bus_close(bus);
	ck_assert_ptr_null(bus_take(bus, UINT64_MAX));
	ck_assert_int_eq(emit_sample(bus, 1, BUS_ALWAYS), 0); /* the collector's own last words */
	uint64_t sum = 0;
	ck_assert_uint_eq(take_all(bus, &sum), 1);
	bus_free(bus);
}

/* One wrong member each; everything else as in sample(). */
TEST(refuses_malformed_batches_whole)
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

TEST(defines_each_string_and_stack_once_before_its_use)
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

/* What a capture defines is on the bus: the core does not define it again. Its own texts, which are not, are defined.
 */
TEST(what_came_from_the_bus_is_not_defined_again)
{
	struct bus *bus = bus_new(1 << 20);
	struct intern *intern = intern_new(bus);
	struct {
		struct iaprof_record_string head;
		char text[8];
	} string = {
		.head = { .header = { .size = sizeof string, .type = IAPROF_RECORD_STRING }, .id = 3, .length = 3 },
		.text = "two"
	};
	ck_assert_int_eq(intern_define_string(intern, &string.head), 0);
	ck_assert_uint_eq(intern_text_id(intern, "two"), 3);
	uint32_t own = intern_own_text(intern, "own");
	ck_assert_uint_ne(own, 0);
	ck_assert_ptr_null(bus_take(bus, 0));
	ck_assert_uint_eq(intern_text_id(intern, "own"), own);
	ck_assert_uint_eq(intern_text_id(intern, "own"), own);
	struct block *block = bus_take(bus, 0);
	ck_assert_ptr_nonnull(block);
	ck_assert_uint_eq(block_batch(block).count, 1);
	block_release(block);
	ck_assert_uint_eq(intern_string_count(intern), 2);
	ck_assert_uint_eq(intern_text_id(intern, NULL), 0);
	ck_assert_uint_eq(intern_own_text(intern, NULL), 0);
	intern_free(intern);
	intern_free(NULL);
	bus_recycle(bus, NULL);
	bus_free(bus);
	bus_free(NULL);
	block_release(NULL);
}

TEST(refuses_definitions_that_contradict_or_leap)
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
	/* A text may be defined with many ids; the first one is its id here. */
	for (string.head.id = id + 11; string.head.id < id + 1000; string.head.id++)
		ck_assert_int_eq(intern_define_string(intern, &string.head), 0);
	ck_assert_str_eq(intern_text(intern, id + 999), "two");
	ck_assert_uint_eq(intern_string(intern, "two", 3), id + 10);
	intern_free(intern);
}

/* Ids that leap again and again must not make a table that is much larger than its texts. */
TEST(ids_cannot_leap_far_beyond_the_number_of_texts)
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

/* Emits a record of the source with the gate. Returns whether it was put on the bus. */
static bool passes(struct bus *bus, struct record_gate *gate, void *record, uint16_t type, size_t size, uint64_t time)
{
	struct iaprof_record *header = record;
	struct iaprof_record_sample around[2] = { sample(1), sample(2) };
	struct {
		struct iaprof_record_sample first;
		char record[128];
	} records = { .first = around[0] };
	*header = (struct iaprof_record){ .size = (uint32_t)size, .type = type, .time = time };
	memcpy(records.record, record, size);
	memcpy(records.record + size, &around[1].header, sizeof(struct iaprof_record));
	struct iaprof_record *last = (void *)(records.record + size);
	*last = (struct iaprof_record){ .size = sizeof *last, .type = 999 }; /* never passes */
	struct iaprof_batch batch = { .records = &records,
				      .size = sizeof records.first + size + sizeof *last,
				      .count = 3 };
	ck_assert_int_eq(bus_emit_through(bus, gate, 3, &batch,
					  BUS_ALWAYS | (type == IAPROF_RECORD_PROGRESS ? BUS_KEEP_SOURCE : 0), NULL),
			 0);
	struct block *block = bus_take(bus, 0);
	struct iaprof_batch taken = block_batch(block);
	const struct iaprof_record *next = iaprof_batch_next(&taken, NULL);
	ck_assert_uint_eq(next->type, IAPROF_RECORD_SAMPLE);
	next = iaprof_batch_next(&taken, next);
	ck_assert_uint_eq(taken.count, next ? 2 : 1);
	ck_assert(!next || next->type == type);
	bus_recycle(bus, block);
	return next;
}
#define PASSES(name, type, time, ...)                                                                                  \
	passes(bus, &gate, &(struct iaprof_record_##name){ __VA_ARGS__ }, IAPROF_RECORD_##type,                        \
	       sizeof(struct iaprof_record_##name), time)

TEST(what_the_manual_refuses_is_dropped_and_counted_with_its_reason)
{
	struct bus *bus = bus_new(1 << 20);
	struct record_gate gate = { 0 };
	uint64_t now = clock_monotonic(), future = now + IAPROF_TIME_AHEAD_MAX;
	ck_assert(PASSES(counter, COUNTER, now, .id = 7));
	ck_assert(PASSES(counter_value, COUNTER_VALUE, now, .counter = 7));
	ck_assert(!PASSES(counter_value, COUNTER_VALUE, now, .counter = 8));
	ck_assert(!PASSES(counter_value, COUNTER_VALUE, now, .counter = 0));
	ck_assert(PASSES(kernel, KERNEL, now + IAPROF_TIME_AHEAD_MAX / 2, .id = 1));
	ck_assert(!PASSES(kernel, KERNEL, now + (UINT64_C(1) << 60), .id = 1));
	ck_assert(!PASSES(kernel, KERNEL, UINT64_MAX, .id = 1));
	ck_assert(!PASSES(kernel, KERNEL, future + IAPROF_TIME_AHEAD_MAX * 60, .id = 1));
	struct record_gate counted = bus_take_counts(bus, &gate);
	ck_assert_uint_eq(counted.counts[GATE_UNKNOWN_TYPE], 8); /* the last of each batch */
	ck_assert_uint_eq(counted.counts[GATE_AHEAD], 3);
	ck_assert_uint_eq(counted.counts[GATE_COUNTER_UNDECLARED], 2);
	ck_assert_uint_eq(counted.counts[GATE_LATE], 0);
	ck_assert_uint_ge(counted.begin, now);
	counted = bus_take_counts(bus, &gate);
	ck_assert_uint_eq(counted.counts[GATE_UNKNOWN_TYPE] + counted.begin, 0);
	record_gate_free(&gate);
	bus_free(bus);
}

TEST(records_behind_the_progress_of_their_source_are_taken_and_counted)
{
	struct bus *bus = bus_new(1 << 20);
	struct record_gate gate = { 0 };
	ck_assert(PASSES(launch, LAUNCH, 100, .count = 1));
	ck_assert(PASSES(progress, PROGRESS, 200, { 0 }));
	ck_assert(!PASSES(progress, PROGRESS, 200, { 0 })); /* has no effect */
	ck_assert(!PASSES(progress, PROGRESS, 150, { 0 }));
	ck_assert_uint_eq(bus_take_counts(bus, &gate).counts[GATE_LATE], 0);
	ck_assert(PASSES(launch, LAUNCH, 199, .count = 1));
	ck_assert(PASSES(kernel, KERNEL, 199, .id = 1, .address = 4096));
	ck_assert(PASSES(kernel, KERNEL, 199, .id = 1)); /* precedes its samples anyway */
	ck_assert(PASSES(code_object, CODE_OBJECT, 199, .id = 1));
	ck_assert(PASSES(device_activity, DEVICE_ACTIVITY, 199, .busy = 1, .pid = 1));
	ck_assert(PASSES(launch, LAUNCH, 200, .count = 1));
	ck_assert(PASSES(finding, FINDING, 100, .name = 1)); /* nothing waits for it */
	ck_assert_uint_eq(bus_take_counts(bus, &gate).counts[GATE_LATE], 4);
	record_gate_free(&gate);
	bus_free(bus);
}

/* Returns whether a gate takes a record at a time of which it is not in the future. */
static bool is_taken(struct record_gate *gate, void *record, uint16_t type, size_t size, uint64_t time)
{
	struct iaprof_record *header = record;
	*header = (struct iaprof_record){ .size = (uint32_t)size, .type = type, .time = time };
	return record_gate_takes(gate, header, time);
}
#define IS_TAKEN(name, type, time, ...)                                                                                \
	is_taken(&gate, &(struct iaprof_record_##name){ __VA_ARGS__ }, IAPROF_RECORD_##type,                           \
		 sizeof(struct iaprof_record_##name), time)

TEST(what_was_measured_before_the_start_is_dropped_and_counted)
{
	struct record_gate gate = { 0 };
	uint64_t start = 100 * NANOSECONDS_PER_SECOND, first = start - IAPROF_TIME_AHEAD_MAX, before = first - 1;
	ck_assert(IS_TAKEN(sample, SAMPLE, 1, .count = 1)); /* there was no start */
	record_gate_start(&gate, start);
	ck_assert(!IS_TAKEN(sample, SAMPLE, before, .count = 1));
	ck_assert(IS_TAKEN(sample, SAMPLE, first, .count = 1));
	ck_assert(!IS_TAKEN(stall_sample, STALL_SAMPLE, before, .reason_count = 1));
	ck_assert(!IS_TAKEN(histogram, HISTOGRAM, before, .count = 1));
	ck_assert(!IS_TAKEN(job, JOB, before, .state = IAPROF_JOB_DONE));
	ck_assert(!IS_TAKEN(call, CALL, before, .count = 1));
	ck_assert(IS_TAKEN(call, CALL, before, .count = 1, .duration = 1)); /* it ended later */
	ck_assert(IS_TAKEN(call, CALL, before, .count = 1, .duration = UINT64_MAX));
	ck_assert(IS_TAKEN(counter, COUNTER, 0, .id = 7));
	ck_assert(!IS_TAKEN(counter_value, COUNTER_VALUE, 0, .counter = 7));
	/* What existed when the run began. */
	ck_assert(IS_TAKEN(device, DEVICE, 0, .id = 1));
	ck_assert(IS_TAKEN(code_object, CODE_OBJECT, 1, .id = 1));
	ck_assert(IS_TAKEN(kernel, KERNEL, 1, .id = 1));
	ck_assert(IS_TAKEN(launch, LAUNCH, 1, .count = 1));
	ck_assert(IS_TAKEN(process, PROCESS, 1, .event = IAPROF_PROCESS_EXISTING));
	ck_assert_uint_eq(gate.counts[GATE_BEFORE_START], 6);
	record_gate_free(&gate);
}

TEST(records_of_devices_that_were_not_declared_are_taken_and_counted)
{
	struct record_gate gate = { 0 };
	ck_assert(IS_TAKEN(launch, LAUNCH, 0, .count = 1, .device = 1));
	ck_assert(IS_TAKEN(job, JOB, 0, .state = IAPROF_JOB_DONE, .device = 1));
	ck_assert(IS_TAKEN(device_activity, DEVICE_ACTIVITY, 0, .busy = 1, .pid = 1, .device = 1));
	ck_assert(IS_TAKEN(code_object, CODE_OBJECT, 0, .id = 1, .device = 1));
	ck_assert(IS_TAKEN(counter, COUNTER, 0, .id = 1, .device = 1));
	ck_assert(IS_TAKEN(launch, LAUNCH, 0, .count = 1)); /* of no device */
	ck_assert_uint_eq(gate.counts[GATE_DEVICE_UNDECLARED], 5);
	ck_assert(IS_TAKEN(device, DEVICE, 0, .id = 1));
	ck_assert(IS_TAKEN(launch, LAUNCH, 0, .count = 1, .device = 1));
	ck_assert(IS_TAKEN(launch, LAUNCH, 0, .count = 1, .device = 2));
	ck_assert(IS_TAKEN(launch, LAUNCH, 0, .count = 1, .device = 1));
	ck_assert_uint_eq(gate.counts[GATE_DEVICE_UNDECLARED], 6);
	for (uint32_t id = 2; id <= 2 * GATE_DEVICES_MAX; id++)
		ck_assert(IS_TAKEN(device, DEVICE, 0, .id = id));
	/* More than are remembered: nothing is counted that may have been declared. */
	ck_assert_uint_eq(gate.devices.count, GATE_DEVICES_MAX);
	ck_assert(IS_TAKEN(launch, LAUNCH, 0, .count = 1, .device = 2 * GATE_DEVICES_MAX));
	ck_assert_uint_eq(gate.counts[GATE_DEVICE_UNDECLARED], 6);
	record_gate_free(&gate);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
