/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a run as a whole: the first of a number or a key counts, and tables have bounds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/loss.h"
#include "profile/run_metadata.h"
#include "../run_suite.h"

static struct run_metadata facts;

static uint32_t text(const char *name)
{
	return intern_text_id(facts.intern, name);
}

static void take_source(uint32_t number, const char *name)
{
	struct iaprof_record_source record = { .number = number, .name = text(name) };
	ck_assert(run_metadata_take_source(&facts, &record));
}

TEST(sources_have_the_first_name_of_their_number)
{
	ck_assert_str_eq(run_metadata_source_name(&facts, 0), "iaprof");
	ck_assert_str_eq(run_metadata_source_name(&facts, 1), "[unknown source]");
	take_source(0, "none");
	take_source(UINT16_MAX + 1, "too-large");
	ck_assert_uint_eq(facts.sources.count, 0);
	take_source(1, "first");
	take_source(1, "second");
	take_source(UINT16_MAX, "last");
	ck_assert_str_eq(run_metadata_source_name(&facts, 1), "first");
	ck_assert_str_eq(run_metadata_source_name(&facts, UINT16_MAX), "last");
	for (uint32_t i = 2; i < 2000; i++)
		take_source(i, "other");
	ck_assert_uint_eq(facts.sources.count, 1024);
	ck_assert_str_eq(run_metadata_source_name(&facts, 1023), "other");
	ck_assert_str_eq(run_metadata_source_name(&facts, 1024), "[unknown source]");
}

TEST(value_types_have_the_first_name_of_their_id)
{
	for (uint32_t i = 1; i <= 300; i++) {
		struct iaprof_record_value_type record = { .id = 1000 + i / 2 * 2,
							   .name = text(i % 2 ? "second" : "first"),
							   .unit = text("count"),
							   .period = i };
		run_metadata_take_value_type(&facts, &record);
	}
	ck_assert_uint_eq(facts.value_types.count, 151);
	ck_assert_uint_eq(run_metadata_find_value_type(&facts, 1000), 0);
	ck_assert_uint_eq(run_metadata_find_value_type(&facts, 1002), 1);
	ck_assert_uint_eq(run_metadata_find_value_type(&facts, 1003), LOSS_NO_VALUE_TYPE);
	ck_assert_str_eq(facts.value_types.items[1].name, "first");
	ck_assert_str_eq(facts.value_types.items[1].unit, "count");
	ck_assert_uint_eq(facts.value_types.items[1].period, 2);
	for (uint32_t i = 1; i <= 300; i++)
		run_metadata_take_value_type(&facts, &(struct iaprof_record_value_type){ .id = i });
	ck_assert_uint_eq(facts.value_types.count, 256);
	ck_assert_uint_eq(facts.value_type_ids.count, 256);
}

TEST(metadata_has_the_last_value_of_a_key)
{
	char keys[300][8];
	ck_assert_ptr_null(run_metadata_find_metadata(&facts, "host"));
	run_metadata_take_metadata(&facts, 0, "host", "one");
	run_metadata_take_metadata(&facts, 0, "kernel", "host");
	run_metadata_take_metadata(&facts, 0, "host", "two");
	ck_assert_uint_eq(facts.metadata.count, 4);
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "host"), "two");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "kernel"), "host");
	ck_assert_ptr_null(run_metadata_find_metadata(&facts, "one"));
	for (int i = 0; i < 300; i++) {
		snprintf(keys[i], sizeof keys[i], "k%d", i);
		run_metadata_take_metadata(&facts, 0, keys[i], "value");
	}
	ck_assert_uint_eq(facts.metadata.count, 512);
	run_metadata_take_metadata(&facts, 0, "kernel", "new"); /* a known one, though there is no more room */
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "kernel"), "new");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "k253"), "value");
	ck_assert_ptr_null(run_metadata_find_metadata(&facts, "k254"));
}

/* A value of one source does not replace that of another one. */
TEST(metadata_of_several_sources_is_told_apart)
{
	take_source(1, "cpu");
	take_source(2, "gpu");
	take_source(3, "cpu"); /* the same one, started again */
	run_metadata_take_metadata(&facts, 1, "stacks", "1 of the CPU");
	run_metadata_take_metadata(&facts, 2, "stacks", "1 of the GPU");
	run_metadata_take_metadata(&facts, 1, "stacks", "2 of the CPU");
	run_metadata_take_metadata(&facts, 2, "stacks", "2 of the GPU");
	ck_assert_uint_eq(facts.metadata.count, 4);
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "stacks"), "2 of the CPU");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "stacks (gpu)"), "2 of the GPU");
	run_metadata_take_metadata(&facts, 3, "stacks", "3 of the CPU");
	run_metadata_take_metadata(&facts, 2, "other", "of the GPU");
	ck_assert_uint_eq(facts.metadata.count, 6);
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "stacks"), "3 of the CPU");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "other"), "of the GPU");
	run_metadata_take_metadata(&facts, 9, "stacks", "of a source without a name");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "stacks ([unknown source])"), "of a source without a name");
	run_metadata_take_metadata(&facts, 0, "stacks", "of the core");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "stacks"), "of the core");
}

TEST(what_the_core_found_is_sent)
{
	struct result_stream results = { .intern = facts.intern, .is_read = true };
	run_metadata_note(&facts, &results, "key", "value");
	struct result_stream unread = { .intern = facts.intern };
	run_metadata_note(&facts, &unread, "other", "value");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "key"), "value");
	ck_assert_str_eq(run_metadata_find_metadata(&facts, "other"), "value");
	struct block *block = result_stream_take(&results);
	ck_assert_ptr_nonnull(block);
	/* The definitions of both texts come first. */
	ck_assert_uint_eq(block->count, 3);
	const struct iaprof_batch batch = block_batch(block);
	const struct iaprof_record *last = NULL;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
		last = record;
	const struct iaprof_record_metadata *record = (const void *)last;
	ck_assert_uint_eq(record->header.type, IAPROF_RECORD_METADATA);
	ck_assert_str_eq(intern_text(facts.intern, record->key), "key");
	ck_assert_str_eq(intern_text(facts.intern, record->value), "value");
	block_release(block);
	result_stream_free(&results);
	result_stream_free(&unread);
}

static void take_value(uint16_t source, uint32_t id, double value, uint64_t expected)
{
	struct iaprof_record_counter_value record = { .header.source = source, .counter = id, .value = value };
	run_metadata_take_counter_value(&facts, &record);
	ck_assert_uint_eq(facts.kernel_side_time, expected);
}

static void take_counter(uint16_t source, uint32_t id, const char *name)
{
	struct iaprof_record_counter record = { .header.source = source, .id = id, .name = text(name) };
	run_metadata_take_counter(&facts, &record);
}

TEST(time_in_the_linux_kernel_is_the_sum_of_all_sources)
{
	take_counter(1, 1, COUNTER_KERNEL_SIDE_TIME);
	take_counter(1, 2, "another");
	take_counter(2, 1, COUNTER_KERNEL_SIDE_TIME);
	take_value(1, 1, 100, 100);
	take_value(1, 2, 999, 100);
	take_value(3, 1, 999, 100);
	take_value(2, 1, 50, 150);
	take_value(1, 1, 120, 170);
	take_value(1, 1, -60, 0);
	take_value(1, 1, 1e18, 0);
	take_value(1, 1, 0, 50);
	for (uint32_t i = 3; i < 100; i++)
		take_counter(1, i, COUNTER_KERNEL_SIDE_TIME);
	ck_assert_uint_eq(facts.kernel_side_counters.count, 64);
}

static void set_up(void)
{
	facts = (struct run_metadata){ .intern = intern_new(NULL) };
}

static void tear_down(void)
{
	struct intern *intern = facts.intern;
	run_metadata_free(&facts);
	intern_free(intern);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
