/* SPDX-License-Identifier: Apache-2.0 */
/* Records of an isolated source: ids are translated, and nothing that its process writes is trusted. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/isolation/record_intake.h"
#include "../run_suite.h"

static struct plugin plugin = { .description = { .kind = IAPROF_PLUGIN_SOURCE, .name = "test", .instance_size = 8 } };
static struct instance_services services;
static struct record_ring ring;
static struct record_intake intake;
static uint64_t seed = 1;

static void ended(void *context, struct instance *which)
{
}

static void set_up(void)
{
	services = (struct instance_services){ .bus = bus_new((size_t)64 << 20), .ended = ended };
	services.intern = intern_new(services.bus);
	struct instance_configuration configuration = { .plugin = (char *)"test" };
	struct error error = { 0 };
	struct instance *instance = instance_new(&plugin, &configuration, 7, &services, &error);
	ck_assert_msg(instance != NULL, "%s", error.text);
	memset(&ring, 0, sizeof ring);
	intake = (struct record_intake){ .ring = &ring, .instance = instance, .process_descriptor = -1 };
	ck_assert_int_eq(record_intake_init(&intake), 0);
	/* Ids of the run differ from those of the source. */
	intern_text_id(services.intern, "first");
	intern_stack(services.intern, 1, (const uint64_t[]){ 1 }, 1);
}

static void tear_down(void)
{
	record_intake_free(&intake);
	instance_free(intake.instance);
	intern_free(services.intern);
	bus_free(services.bus);
}

static void put(const void *record, size_t size)
{
	bool wake;
	ck_assert(record_ring_write(intake.ring, record, size, &wake));
}

static void put_string(uint32_t id, const char *text)
{
	uint64_t bytes[16] = { 0 };
	struct iaprof_record_string *record = (void *)bytes;
	size_t length = strlen(text), size = (sizeof *record + length + 1 + 7) & ~(size_t)7;
	*record = (struct iaprof_record_string){ .header = { .size = (uint32_t)size, .type = IAPROF_RECORD_STRING },
						 .id = id,
						 .length = (uint32_t)length };
	memcpy(record + 1, text, length);
	put(bytes, size);
}

static void put_stack(uint32_t id, uint64_t address)
{
	struct {
		struct iaprof_record_stack stack;
		uint64_t address;
	} record = {
		{ .header = { .size = sizeof record, .type = IAPROF_RECORD_STACK }, .id = id, .count = 1, .pid = 5 },
		address
	};
	put(&record, sizeof record);
}

static struct iaprof_record_sample sample_of(uint32_t name, uint32_t stack)
{
	return (struct iaprof_record_sample){
		.header = { .size = sizeof(struct iaprof_record_sample), .type = IAPROF_RECORD_SAMPLE, .source = 99 },
		.pid = 5,
		.name = name,
		.user_stack = stack,
		.value_type = name,
		.count = 1,
		.value = 1
	};
}

static int take(struct error *error)
{
	bool more;
	return record_intake_take(&intake, &more, error);
}

/* Returns a copy of the last SAMPLE on the bus; one without a count if there is none. */
static struct iaprof_record_sample last_sample(void)
{
	struct iaprof_record_sample found = { 0 };
	for (struct block *block = bus_take(services.bus, 0), *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		next = block->next;
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
			if (record->type == IAPROF_RECORD_SAMPLE)
				memcpy(&found, record, sizeof found);
		bus_recycle(services.bus, block);
	}
	return found;
}

TEST(translates_ids)
{
	struct error error = { 0 };
	put_string(1, "program");
	put_stack(1, 0x4000);
	struct iaprof_record_sample sample = sample_of(1, 1);
	put(&sample, sizeof sample);
	ck_assert_msg(!take(&error), "%s", error.text);
	ck_assert(record_intake_is_empty(&intake));
	struct iaprof_record_sample found = last_sample();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_eq(found.header.source, 7);
	ck_assert_str_eq(intern_text(services.intern, found.name), "program");
	ck_assert_uint_ne(found.user_stack, 1);
	struct interned_stack stack = intern_find_stack(services.intern, found.user_stack);
	ck_assert_uint_eq(stack.pid, 5);
	ck_assert_uint_eq(stack.addresses[0], 0x4000);
}

/* An unknown text is neither another one nor none, which would be the default where it is a value type. */
TEST(unknown_ids_stay_unknown)
{
	struct error error = { 0 };
	struct iaprof_record_sample sample = sample_of(3, UINT32_MAX);
	put(&sample, sizeof sample);
	ck_assert_msg(!take(&error), "%s", error.text);
	struct iaprof_record_sample found = last_sample();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_uint_eq(found.name, UINT32_MAX);
	ck_assert_str_eq(intern_text(services.intern, found.name), "");
	ck_assert_uint_eq(found.user_stack, 0);
	ck_assert_uint_eq(intake.unknown, 1);
}

TEST_LOOP(refuses_positions_that_are_impossible, 0, 4)
{
	static const uint64_t positions[] = { RECORD_RING_SIZE + 1, UINT64_MAX, 1, 15 };
	struct error error = { 0 };
	atomic_store(&intake.ring->written, positions[_i]);
	ck_assert_int_lt(take(&error), 0);
}

/* Whatever the ring's own members say, the reader keeps its position. */
TEST(ignores_the_position_of_the_reader_in_the_ring)
{
	struct error error = { 0 };
	put_string(1, "program");
	atomic_store(&intake.ring->read, UINT64_MAX / 2);
	ck_assert_int_eq(take(&error), 0);
	ck_assert(record_intake_is_empty(&intake));
}

TEST_LOOP(refuses_ids_out_of_order, 0, 3)
{
	struct error error = { 0 };
	if (_i == 0)
		put_string(2, "program");
	else if (_i == 1)
		put_stack(2, 1);
	else
		put(&(struct iaprof_record_named_frame){ .header = { .size = sizeof(struct iaprof_record_named_frame),
								     .type = IAPROF_RECORD_NAMED_FRAME },
							 .id = 9,
							 .name = 1 },
		    sizeof(struct iaprof_record_named_frame));
	ck_assert_int_eq(take(&error), -EBADMSG);
}

TEST(refuses_records_of_the_core)
{
	struct error error = { 0 };
	put(&(struct iaprof_record){ .size = sizeof(struct iaprof_record), .type = IAPROF_RECORD_SYNC },
	    sizeof(struct iaprof_record));
	ck_assert_int_eq(take(&error), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error.text, "SYNC is for the core to send"));
}

TEST_LOOP(refuses_sizes_that_do_not_fit, 0, 5)
{
	static const uint32_t sizes[] = { 0, 8, 20, 65536, UINT32_MAX };
	struct error error = { 0 };
	struct iaprof_record_sample sample = sample_of(0, 0);
	sample.header.size = sizes[_i];
	put(&sample, sizeof sample);
	ck_assert_int_lt(take(&error), 0);
}

static uint64_t random_number(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return seed >> 33;
}

/* Correct records in which bytes are changed, also while the ring wraps around. */
TEST(survives_anything)
{
	for (int round = 0; round < 3000; round++) {
		struct error error = { 0 };
		put_string((uint32_t)intake.strings.count + 1, "text");
		put_stack(intake.stack_count + 1, IAPROF_STACK_NAMED_FRAME | (uint32_t)round);
		for (int i = 0; i < 20; i++) {
			struct iaprof_record_sample sample = sample_of((uint32_t)i, (uint32_t)round);
			put(&sample, sizeof sample);
		}
		for (uint64_t i = random_number() % 4; i; i--) {
			uint64_t position = intake.position + random_number() % 2000;
			intake.ring->bytes[position % RECORD_RING_SIZE] = (char)random_number();
		}
		for (int i = 0; i < 3 && !take(&error); i++)
			;
		/* Goes on behind what was refused, where a record begins. */
		intake.position = atomic_load(&intake.ring->written);
		record_ring_consume(intake.ring, intake.position);
		if (round % 100 == 0)
			(void)last_sample();
	}
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
