/* SPDX-License-Identifier: Apache-2.0 */
/* The profile's tables by themselves: what they add up, by what, and their bounds. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/call_families.h"
#include "profile/call_tree.h"
#include "profile/findings.h"
#include "profile/loss.h"
#include "profile/sample_table.h"
#include "correlator/time_values.h"
#include "profile/value_table.h"
#include "../run_suite.h"

TEST(values_add_up_by_stack_and_type)
{
	struct value_table table = { 0 };
	for (uint64_t round = 0; round < 3; round++) {
		for (uint32_t stack = 0; stack < 100; stack++)
			for (uint32_t type = 0; type < 3; type++)
				ck_assert(value_table_add(&table, stack, type, stack * 10 + type, 1 + type));
		ck_assert_uint_eq(table.entries.count, 300);
		for (uint32_t i = 0; i < 300; i++) {
			const struct value_entry *entry = &table.entries.items[i];
			uint64_t value = entry->key.stack * 10 + entry->key.value_type,
				 count = 1 + entry->key.value_type;
			ck_assert_uint_eq(entry->key.stack, i / 3);
			ck_assert_uint_eq(entry->key.value_type, i % 3);
			ck_assert_uint_eq(entry->total.value, value * (round + 1));
			ck_assert_uint_eq(entry->total.count, count * (round + 1));
			ck_assert_uint_eq(entry->interval.value, value);
			ck_assert_uint_eq(entry->interval.count, count);
		}
		value_table_begin_interval(&table);
		ck_assert_uint_eq(table.entries.items[299].interval.count, 0);
		ck_assert_uint_eq(table.entries.items[0].interval.value, 0);
	}
	ck_assert(value_table_add(&table, 5, 1, UINT64_MAX, UINT64_MAX));
	ck_assert_uint_eq(table.entries.items[16].total.value, UINT64_MAX);
	value_table_free(&table);
}

TEST(losses_add_up_by_source_reason_and_type)
{
	struct loss loss = { 0 };
	loss_add(&loss, "a", "full", LOSS_NO_VALUE_TYPE, 50, 60, 3, 0);
	loss_add(&loss, "a", "full", 0, 50, 60, 4, 40);
	loss_add(&loss, "b", "full", LOSS_NO_VALUE_TYPE, 50, 60, 5, 0);
	loss_add(&loss, "a", "late", LOSS_NO_VALUE_TYPE, 50, 60, IAPROF_COUNT_UNKNOWN, 0);
	const struct loss_entry *entry = loss_add(&loss, "a", "full", 0, 40, 55, 1, 2);
	ck_assert_uint_eq(loss.entries.count, 4);
	ck_assert_uint_eq(entry->count, 5);
	ck_assert_uint_eq(entry->value, 42);
	ck_assert_uint_eq(entry->begin, 40);
	ck_assert_uint_eq(entry->end, 60);
	loss_begin_interval(&loss);
	entry = loss_add(&loss, "a", "full", 0, 45, 70, 10, 100);
	ck_assert_uint_eq(entry->begin, 40);
	ck_assert_uint_eq(entry->end, 70);
	ck_assert_uint_eq(entry->count, 15);
	ck_assert_uint_eq(entry->interval_count, 10);
	ck_assert_uint_eq(entry->interval_value, 100);
	entry = loss_add(&loss, "a", "late", LOSS_NO_VALUE_TYPE, 50, 60, IAPROF_COUNT_UNKNOWN, 0);
	ck_assert_uint_eq(entry->unknown, 2);
	ck_assert_uint_eq(entry->interval_unknown, 1);
	ck_assert_uint_eq(entry->count, 0);
	loss_free(&loss);
}

TEST(made_up_reasons_and_sources_are_put_together)
{
	struct loss loss = { 0 };
	struct intern *intern = intern_new(NULL);
	char text[32];
	uint64_t sum = 0;
	for (int i = 0; i < 256; i++) {
		snprintf(text, sizeof text, "reason %d", i);
		loss_add(&loss, "a", intern_text(intern, intern_text_id(intern, text)), 0, 1, 2, 1, 1);
	}
	ck_assert_uint_eq(loss.entries.count, 256);
	ck_assert_str_eq(loss_add(&loss, "a", "reason 256", 0, 1, 2, 1, 1)->reason, "other reasons");
	ck_assert_str_eq(loss_add(&loss, "a", "reason 255", 0, 1, 2, 1, 1)->reason, "reason 255");
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "source %d", i);
		loss_add(&loss, intern_text(intern, intern_text_id(intern, text)), "x", 0, 1, 2, 1, 1);
	}
	ck_assert_uint_eq(loss.entries.count, 2 * 256 + 1);
	ck_assert_str_eq(loss.entries.items[511].source, "source 254");
	ck_assert_str_eq(loss.entries.items[512].source, "other sources");
	ck_assert_str_eq(loss.entries.items[512].reason, "other reasons");
	for (size_t i = 0; i < loss.entries.count; i++)
		sum += loss.entries.items[i].count;
	ck_assert_uint_eq(sum, 256 + 2 + 1000);
	loss_free(&loss);
	intern_free(intern);
}

/* Values whose first and last slot are those of the newest of their list are added to it. */
TEST(times_of_a_slot_are_put_together)
{
	struct time_values values = { .resolution = 100 };
	uint32_t list = TIME_VALUE_NONE, other = TIME_VALUE_NONE;
	ck_assert(time_values_add(&values, &list, 120, 180, 5, 1));
	ck_assert(time_values_add(&values, &list, 110, 170, 6, 2));
	ck_assert(time_values_add(&values, &list, 150, 190, 7, 3));
	ck_assert(time_values_add(&values, &other, 150, 190, 70, 30));
	ck_assert_uint_eq(values.items.count, 2);
	ck_assert_uint_eq(values.items.items[list].begin, 110);
	ck_assert_uint_eq(values.items.items[list].end, 190);
	ck_assert_uint_eq(values.items.items[list].value, 18);
	ck_assert_uint_eq(values.items.items[list].count, 6);
	ck_assert(time_values_add(&values, &list, 150, 200, 1, 1));
	ck_assert(time_values_add(&values, &list, 99, 200, 1, 1));
	ck_assert_uint_eq(values.items.count, 4);
	ck_assert_uint_eq(values.items.items[list].begin, 99);
	uint32_t before = values.items.items[list].next;
	ck_assert_uint_eq(values.items.items[before].end, 200);
	ck_assert_uint_eq(values.items.items[values.items.items[before].next].value, 18);
	time_values_clear(&values);
	ck_assert_uint_eq(values.items.count, 0);
	values.resolution = 0;
	list = TIME_VALUE_NONE;
	ck_assert(time_values_add(&values, &list, 1, 2, 3, 4));
	ck_assert_uint_eq(list, TIME_VALUE_NONE);
	time_values_free(&values);
}

/* Functions, and the tree of their calls */

static struct call_tree tree;

static int take_function(uint16_t source, uint32_t id, const char *name, const char *family)
{
	struct iaprof_record_call_function record = { .header.source = source,
						      .id = id,
						      .name = intern_text_id(tree.intern, name),
						      .family = intern_text_id(tree.intern, family) };
	return call_tree_take_function(&tree, &record);
}

static int take_node(uint16_t source, uint32_t id, uint32_t parent, uint32_t function)
{
	struct iaprof_record_call_node record = {
		.header.source = source, .id = id, .parent = parent, .function = function
	};
	return call_tree_take_node(&tree, &record);
}

static void call(uint32_t node, uint64_t count, uint64_t duration, uint64_t self)
{
	call_tree_add(&tree, node,
		      &(struct iaprof_record_call){ .count = count, .duration = duration, .self_duration = self });
}

TEST(calls_are_of_their_source_and_place)
{
	tree = (struct call_tree){ .intern = intern_new(NULL) };
	ck_assert_int_eq(take_function(1, 1, "open", "files"), 0);
	ck_assert_int_eq(take_function(1, 1, "open", "files"), 0);
	ck_assert_int_eq(take_function(1, 1, "close", "files"), -EINVAL);
	ck_assert_int_eq(take_function(2, 1, "close", ""), 0);
	ck_assert_int_eq(take_node(1, 7, 0, 1), 0);
	ck_assert_int_eq(take_node(2, 7, 0, 1), 0);
	ck_assert_int_eq(take_node(1, 8, 7, 1), 0);
	ck_assert_int_eq(take_node(1, 8, 7, 1), 0);
	ck_assert_int_eq(take_node(1, 8, 0, 1), -EINVAL);  /* another parent */
	ck_assert_int_eq(take_node(1, 9, 7, 2), -EINVAL);  /* no such function */
	ck_assert_int_eq(take_node(1, 9, 10, 1), -EINVAL); /* no such parent */
	uint32_t outer = call_tree_find(&tree, 1, 7), other = call_tree_find(&tree, 2, 7),
		 inner = call_tree_find(&tree, 1, 8);
	ck_assert_uint_eq(call_tree_find(&tree, 1, 9), CALL_NONE);
	ck_assert_uint_eq(call_tree_find(&tree, 2, 8), CALL_NONE);
	ck_assert_uint_eq(tree.nodes.items[inner].parent, outer);
	ck_assert_uint_eq(tree.nodes.items[inner].depth, 1);
	ck_assert_uint_eq(tree.nodes.items[other].depth, 0);
	call(outer, 2, 100, 60);
	call(inner, 3, 40, 30);
	call(other, 5, 7, 6);
	ck_assert_uint_eq(tree.functions.items[0].sums.count, 5);
	ck_assert_uint_eq(tree.functions.items[0].sums.duration, 140);
	ck_assert_uint_eq(tree.functions.items[0].sums.self_duration, 90);
	ck_assert_uint_eq(tree.nodes.items[inner].sums.duration, 40);
	struct call_families families = call_families_sum(&tree);
	ck_assert_uint_eq(families.count, 2);
	ck_assert_str_eq(families.items[0].name, "files");
	ck_assert_uint_eq(families.items[0].sums.duration, 140);
	ck_assert_str_eq(families.items[1].name, CALL_FAMILY_OTHER);
	ck_assert_uint_eq(families.items[1].sums.self_duration, 6);
	ck_assert_uint_eq(families.total.count, 10);
	ck_assert_uint_eq(families.total.duration, 147);
	ck_assert_uint_eq(families.total.self_duration, 96);
	/* As deep as calls can be, and one more. */
	for (uint32_t id = 9; id < 9 + IAPROF_CALL_DEPTH_MAX - 2; id++)
		ck_assert_int_eq(take_node(1, id, id - 1, 1), 0);
	ck_assert_int_eq(take_node(1, 1000, 9 + IAPROF_CALL_DEPTH_MAX - 3, 1), -EINVAL);
	struct intern *intern = tree.intern;
	call_tree_free(&tree);
	intern_free(intern);
}

TEST(trees_and_families_are_bounded)
{
	char text[32];
	uint64_t sum = 0;
	tree = (struct call_tree){ .intern = intern_new(NULL) };
	for (uint32_t i = 1; i <= 1u << 16; i++) {
		snprintf(text, sizeof text, "f%u", i % 100);
		ck_assert_int_eq(take_function(1, i, text, text), 0);
	}
	ck_assert_int_eq(take_function(1, (1u << 16) + 1, "f", "f"), -EINVAL);
	ck_assert_int_eq(take_function(1, 1u << 16, text, text), 0);
	for (uint32_t i = 1; i <= 1u << 18; i++)
		ck_assert_int_eq(take_node(1, i, 0, 1 + i % 100), 0);
	ck_assert_int_eq(take_node(1, (1u << 18) + 1, 0, 1), -EINVAL);
	for (uint32_t i = 1; i <= 100; i++)
		call(call_tree_find(&tree, 1, i), i, i, i);
	struct call_families families = call_families_sum(&tree);
	ck_assert_uint_eq(families.count, CALL_FAMILIES_MAX);
	ck_assert_str_eq(families.items[CALL_FAMILIES_MAX - 1].name, CALL_FAMILY_OTHER);
	for (size_t i = 0; i < families.count; i++)
		sum += families.items[i].sums.count;
	ck_assert_uint_eq(sum, 5050);
	ck_assert_uint_eq(families.total.count, 5050);
	struct intern *intern = tree.intern;
	call_tree_free(&tree);
	intern_free(intern);
}

TEST(a_family_named_other_is_not_listed_twice)
{
	char text[32];
	size_t others = 0;
	tree = (struct call_tree){ .intern = intern_new(NULL) };
	for (uint32_t i = 1; i <= 2 * CALL_FAMILIES_MAX; i++) {
		snprintf(text, sizeof text, "f%u", i);
		ck_assert_int_eq(take_function(1, i, text, i == 2 ? CALL_FAMILY_OTHER : text), 0);
		ck_assert_int_eq(take_node(1, i, 0, i), 0);
		call(call_tree_find(&tree, 1, i), 1, 1, 1);
	}
	struct call_families families = call_families_sum(&tree);
	ck_assert_uint_eq(families.count, CALL_FAMILIES_MAX - 1);
	for (size_t i = 0; i < families.count; i++)
		if (!strcmp(families.items[i].name, CALL_FAMILY_OTHER)) {
			/* Its own, and those of the families beyond the limit. */
			ck_assert_uint_eq(families.items[i].sums.count, 1 + CALL_FAMILIES_MAX + 1);
			others++;
		}
	ck_assert_uint_eq(others, 1);
	struct intern *intern = tree.intern;
	call_tree_free(&tree);
	intern_free(intern);
}

TEST(findings_are_told_once)
{
	struct findings findings = { .intern = intern_new(NULL) };
	struct iaprof_record_finding record = { .header.source = 1,
						.pid = 10,
						.severity = 2,
						.name = intern_text_id(findings.intern, "slow"),
						.text = intern_text_id(findings.intern, "first") };
	findings_take(&findings, &record);
	record.severity = 3;
	record.text = intern_text_id(findings.intern, "second");
	findings_take(&findings, &record);
	record.severity = 1;
	findings_take(&findings, &record);
	ck_assert_uint_eq(findings.items.count, 1);
	ck_assert_uint_eq(findings.items.items[0].count, 3);
	ck_assert_uint_eq(findings.items.items[0].severity, 3);
	ck_assert_str_eq(findings.items.items[0].text, "second");
	record.header.source = 2;
	findings_take(&findings, &record);
	record.name = intern_text_id(findings.intern, "idle");
	findings_take(&findings, &record);
	ck_assert_uint_eq(findings.items.count, 3);
	for (record.pid = 11; record.pid < 311; record.pid++)
		findings_take(&findings, &record);
	ck_assert_uint_eq(findings.items.count, 256);
	ck_assert_uint_eq(findings.dropped, 3 + 300 - 256);
	struct intern *intern = findings.intern;
	findings_free(&findings);
	intern_free(intern);
}

/* Samples */

static struct sample_table table;
static uint64_t taken[3]; /* entries, values, counts */

static struct sample_key key(uint32_t process, uint32_t stack)
{
	return (struct sample_key){ .process = process, .pid = 100 + process, .user_stack = stack };
}

static void take(void *context, const struct sample_entry *entry)
{
	uint64_t sum = 0;
	for (uint32_t i = entry->times; i != TIME_VALUE_NONE; i = table.times.items.items[i].next)
		sum += table.times.items.items[i].value;
	ck_assert_uint_eq(sum, entry->value);
	taken[0]++;
	taken[1] += entry->value;
	taken[2] += entry->count;
	if (context) {
		struct sample_key other = entry->key;
		other.process = 99;
		ck_assert(sample_table_put_back(context, &other, entry));
	}
}

static void expect_taken(uint64_t entries, uint64_t value, uint64_t count)
{
	ck_assert_uint_eq(taken[0], entries);
	ck_assert_uint_eq(taken[1], value);
	ck_assert_uint_eq(taken[2], count);
	memset(taken, 0, sizeof taken);
}

static bool add_sample(const struct sample_key *key, uint64_t first_time, uint64_t time, uint64_t value, uint64_t count)
{
	uint32_t entry = sample_table_entry(&table, key);
	ck_assert_uint_eq(sample_table_entry(&table, key), entry);
	return entry != SAMPLE_NONE && sample_table_add(&table, entry, first_time, time, value, count);
}

TEST(samples_are_taken_by_process)
{
	table = (struct sample_table){ .times.resolution = 100 };
	hash_key_make(&table.hash_key);
	for (uint32_t process = 1; process <= 3; process++)
		for (uint32_t stack = 1; stack <= 40; stack++) {
			struct sample_key of = key(process, stack);
			ck_assert(add_sample(&of, 1000, 1000 + stack, 10 * process, process));
			ck_assert(add_sample(&of, 2000, 1990, 1, 1));
		}
	ck_assert_uint_eq(table.entries.count, 120);
	ck_assert_uint_eq(table.entries.items[0].last_time, 1990);
	sample_table_take_process(&table, 2, take, NULL);
	expect_taken(40, 40 * 21, 40 * 3);
	sample_table_take_process(&table, 2, take, NULL);
	expect_taken(0, 0, 0);
	sample_table_take_process(&table, 77, take, NULL);
	expect_taken(0, 0, 0);
	struct sample_key again = key(2, 7);
	ck_assert(add_sample(&again, 5000, 5000, 3, 1));
	sample_table_take_process(&table, 2, take, NULL);
	expect_taken(1, 3, 1);
	/* What goes on under another key keeps its values and its times. */
	sample_table_take_process(&table, 1, take, &table);
	expect_taken(40, 40 * 11, 40 * 2);
	again = key(99, 7);
	again.pid = 101;
	ck_assert(add_sample(&again, 9000, 9000, 5, 1));
	struct sample_entry put = { .value = 2, .count = 1, .times = TIME_VALUE_NONE, .last_time = 9999 };
	ck_assert(time_values_add(&table.times, &put.times, 9500, 9999, 2, 1));
	ck_assert(sample_table_put_back(&table, &again, &put));
	sample_table_take_process(&table, 99, take, NULL);
	expect_taken(40, 40 * 11 + 5 + 2, 40 * 2 + 1 + 1);
	sample_table_take_all(&table, take, NULL);
	expect_taken(40, 40 * 31, 40 * 4);
	ck_assert_uint_eq(table.entries.count + table.processes.count + table.times.items.count, 0);
	again = key(3, 1);
	ck_assert(add_sample(&again, 1, 1, 1, 1));
	sample_table_take_process(&table, 3, take, NULL);
	expect_taken(1, 1, 1);
	sample_table_free(&table);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
