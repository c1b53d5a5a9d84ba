/* SPDX-License-Identifier: Apache-2.0 */
/* The profile's tables by themselves: what they add up, by what, and their bounds. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/call_tree.h"
#include "profile/findings.h"
#include "profile/loss.h"
#include "../run_suite.h"

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
	struct call_families families = call_tree_families(&tree);
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

TEST(findings_are_reported_once)
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

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
