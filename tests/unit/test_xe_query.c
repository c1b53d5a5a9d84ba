/* SPDX-License-Identifier: Apache-2.0 */
/* What the xe driver answers, right, cut and contradictory; which GPU has which rows; and the choice of a rate. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xe-eustall/device.h"
#include "xe-eustall/duty_cycle.h"
#include "xe-eustall/platform.h"
#include "xe-eustall/query.h"
#include "xe-eustall/sampling_rate.h"
#include "xe-eustall/device_watchdog.h"
#include "../run_suite.h"

/* Answers are written number by number, at the offsets of include/uapi/drm/xe_drm.h (Linux 7.0). */
struct answer {
	unsigned char bytes[4096];
	size_t size;
};

static void put(struct answer *answer, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		answer->bytes[answer->size++] = (unsigned char)(value >> 8 * i);
}

static void put_gt(struct answer *answer, uint16_t type, uint16_t id, uint16_t major, uint16_t minor)
{
	put(answer, type, 2);
	put(answer, 0, 2);
	put(answer, id, 2);
	put(answer, 0, 6);
	put(answer, 19200000, 4);
	put(answer, 1, 8);
	put(answer, 6, 8);
	put(answer, major, 2);
	put(answer, minor, 2);
	put(answer, 4, 2);
	for (unsigned i = 0; i < 2 + 56; i++)
		put(answer, 0, 1);
}

static void put_mask(struct answer *answer, uint16_t gt, uint16_t type, uint64_t low, uint32_t bytes)
{
	put(answer, gt, 2);
	put(answer, type, 2);
	put(answer, bytes, 4);
	for (uint32_t i = 0; i < bytes; i++)
		put(answer, i < 8 ? low >> 8 * i & 0xff : 0, 1);
}

static void put_eu_stall(struct answer *answer, uint64_t record, uint64_t buffer, uint64_t rate_count)
{
	put(answer, 0, 8);
	put(answer, 1, 8);
	put(answer, record, 8);
	put(answer, buffer, 8);
	for (unsigned i = 0; i < 5; i++)
		put(answer, 0, 8);
	put(answer, rate_count, 8);
}

/* An answer in memory of its own, so that a read behind its end is found by ASan and valgrind. */
static void *copy_of(const struct answer *answer, size_t size)
{
	void *copy = malloc(size ? size : 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, answer->bytes, size);
	return copy;
}

static struct query_gts two_gts(void)
{
	struct answer answer = { 0 };
	struct query_gts gts;
	put(&answer, 2, 4);
	put(&answer, 0, 4);
	put_gt(&answer, 0, 0, 20, 1);
	put_gt(&answer, 1, 1, 13, 1);
	ck_assert_uint_eq(answer.size, 8 + 2 * 96);
	ck_assert_int_eq(query_parse_gts(answer.bytes, answer.size, &gts), 0);
	return gts;
}

TEST(gts)
{
	struct query_gts found = two_gts();
	ck_assert_uint_eq(found.count, 2);
	ck_assert(found.gts[0].main && found.gts[0].id == 0);
	ck_assert_uint_eq(found.gts[0].version_major, 20);
	ck_assert_uint_eq(found.gts[0].version_minor, 1);
	ck_assert(!found.gts[1].main && found.gts[1].id == 1);

	struct answer answer = { 0 };
	put(&answer, 2, 4);
	put(&answer, 0, 4);
	put_gt(&answer, 0, 5, 20, 1);
	put_gt(&answer, 0, 5, 20, 1);
	ck_assert_int_eq(query_parse_gts(answer.bytes, answer.size, &found), -EINVAL); /* one number twice */
	for (size_t size = 0; size < answer.size; size++) {
		void *cut = copy_of(&answer, size);
		ck_assert_int_eq(query_parse_gts(cut, size, &found), -EINVAL);
		free(cut);
	}
	memset(answer.bytes, 0xff, 4);
	ck_assert_int_eq(query_parse_gts(answer.bytes, answer.size, &found), -EINVAL);
}

TEST(xe_cores)
{
	struct query_gts found = two_gts();
	struct answer answer = { 0 };
	put_mask(&answer, 0, 1, 0x00f00000000000ffu, 8);
	put_mask(&answer, 0, 2, 0x00ff00000000000fu, 16); /* overlaps; together 8 + 8 */
	put_mask(&answer, 0, 3, 0xffff, 8);               /* banks of the cache */
	put_mask(&answer, 0, 5, 0xff, 4);
	put_mask(&answer, 1, 1, 0, 8);
	ck_assert_int_eq(query_parse_topology(answer.bytes, answer.size, &found), 0);
	ck_assert_uint_eq(found.gts[0].xe_cores, 16);
	ck_assert_uint_eq(found.gts[1].xe_cores, 0);
	for (size_t size = 1; size < answer.size; size++) {
		void *cut = copy_of(&answer, size);
		int result = query_parse_topology(cut, size, &found);
		/* Good where an entry ends. */
		ck_assert_int_eq(result, size == 16 || size == 40 || size == 56 || size == 68 ? 0 : -EINVAL);
		free(cut);
	}
	answer.bytes[4] = 0xff; /* the length of the first mask */
	answer.bytes[7] = 0xff;
	ck_assert_int_eq(query_parse_topology(answer.bytes, answer.size, &found), -EINVAL);
	ck_assert_int_eq(query_parse_topology(answer.bytes, 0, &found), 0);
	ck_assert_uint_eq(found.gts[0].xe_cores, 0);
}

TEST(eu_stalls)
{
	struct answer answer = { 0 };
	struct query_eu_stall found;
	put_eu_stall(&answer, 64, 524288, 4);
	ck_assert_uint_eq(answer.size, 80);
	const uint64_t rates[] = { 1757, 251, 502, 251 };
	for (unsigned i = 0; i < 4; i++)
		put(&answer, rates[i], 8);
	ck_assert_int_eq(query_parse_eu_stall(answer.bytes, answer.size, &found), 0);
	ck_assert_uint_eq(found.row_size, 64);
	ck_assert_uint_eq(found.buffer_size, 524288);
	ck_assert_uint_eq(found.rate_count, 3); /* in order, each once */
	ck_assert(found.rates[0] == 251 && found.rates[1] == 502 && found.rates[2] == 1757);
	for (size_t size = 0; size < answer.size; size++) {
		void *cut = copy_of(&answer, size);
		ck_assert_int_eq(query_parse_eu_stall(cut, size, &found), -EINVAL);
		free(cut);
	}
}

TEST(eu_stalls_that_contradict_themselves)
{
	static const struct {
		uint64_t record, buffer, rate_count, rate;
	} wrong[] = {
		{ 32, 524288, 1, 251 },        { 64, 0, 1, 251 },
		{ 64, 100, 1, 251 },           { 64, 1ull << 40, 1, 251 },
		{ 64, 524288, 0, 251 },        { 64, 524288, 33, 251 },
		{ 64, 524288, UINT64_MAX, 1 }, { 64, 524288, 1, 0 },
		{ 64, 524288, 1, UINT64_MAX }, { 0, 524288, 1, 251 },
		{ UINT64_MAX, 524288, 1, 1 },  { 64, 524288, 1ull << 61, 251 },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct answer answer = { 0 };
		struct query_eu_stall found;
		put_eu_stall(&answer, wrong[i].record, wrong[i].buffer, wrong[i].rate_count);
		for (unsigned k = 0; k < 40; k++)
			put(&answer, wrong[i].rate, 8);
		ck_assert_int_eq(query_parse_eu_stall(answer.bytes, answer.size, &found), -EINVAL);
	}
}

TEST(device_ids)
{
	struct answer answer = { 0 };
	uint16_t id = 0;
	put(&answer, 5, 4);
	put(&answer, 0, 4);
	put(&answer, 0x04e20b, 8); /* with the revision above */
	ck_assert_int_eq(query_parse_device_id(answer.bytes, answer.size, &id), 0);
	ck_assert_uint_eq(id, 0xe20b);
	for (size_t size = 0; size < answer.size; size++)
		ck_assert_int_eq(query_parse_device_id(answer.bytes, size, &id), -EINVAL);
	answer.bytes[0] = 0;
	ck_assert_int_eq(query_parse_device_id(answer.bytes, answer.size, &id), -EINVAL);
}

TEST(rows_of_platforms)
{
	static const struct {
		uint16_t device_id, version;
		const struct row_layout *layout;
	} platforms[] = {
		{ 0x0bd5, 0, &row_layout_pvc },
		{ 0x0b69, 12, &row_layout_pvc },
		{ 0x0be5, 0, &row_layout_pvc },
		{ 0xe20b, 20, &row_layout_xe2 },
		{ 0x64a0, 20, &row_layout_xe2 },
		{ 0xb080, 30, &row_layout_xe2 },
		{ 0x674c, 35, &row_layout_xe3p },
		{ 0x1234, 25, NULL },
		{ 0x1234, 31, NULL },
		{ 0x1234, 40, NULL },
		{ 0x56a0, 0, NULL },
		{ 0x7d55, 12, NULL },
	};
	char name[64];
	for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++)
		ck_assert_ptr_eq(platform_row_layout(platforms[i].device_id, platforms[i].version),
				 platforms[i].layout);
	platform_name(0xe20b, name, sizeof name);
	ck_assert_str_eq(name, "Intel Arc B580");
	platform_name(0x0042, name, sizeof name);
	ck_assert_str_eq(name, "Intel GPU 0042");
}

TEST(labels)
{
	struct device items[] = { { .name = "Intel Arc B580", .address = "0000:03:00.0" },
				  { .name = "Intel Arc B570", .address = "0000:04:00.0" },
				  { .name = "Intel Arc B580", .address = "0000:05:00.0" } };
	const struct devices devices = { .count = 3, .items = items };
	char text[128];
	device_label(&devices, &items[0], 0, text, sizeof text);
	ck_assert_str_eq(text, "Intel Arc B580 GT 0 at 0000:03:00.0");
	device_label(&devices, &items[1], 1, text, sizeof text);
	ck_assert_str_eq(text, "Intel Arc B570 GT 1");
	device_label(&devices, &items[2], 0, text, sizeof text);
	ck_assert_str_eq(text, "Intel Arc B580 GT 0 at 0000:05:00.0");
}

static const struct query_eu_stall seven = { .rate_count = 7, .rates = { 251, 502, 753, 1004, 1255, 1506, 1757 } };

TEST(rates)
{
	struct rate_choice choice;
	char text[64];
	ck_assert(!rate_choice_parse(NULL, &choice) && !choice.automatic);
	ck_assert_int_eq(rate_choice_find(&choice, &seven), 6);
	ck_assert(!rate_choice_parse("auto", &choice) && choice.automatic);
	ck_assert_int_eq(rate_choice_find(&choice, &seven), 6);
	ck_assert(!rate_choice_parse("502", &choice) && !choice.automatic);
	ck_assert_int_eq(rate_choice_find(&choice, &seven), 1);
	ck_assert(!rate_choice_parse("500", &choice));
	ck_assert_int_eq(rate_choice_find(&choice, &seven), -ENOENT);
	static const char *const wrong[] = {
		"", "-1", "0", "251x", "fast", " 251", "99999999999999999999", "4294967296"
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_int_eq(rate_choice_parse(wrong[i], &choice), -EINVAL);
	rate_list_format(&seven, text, sizeof text);
	ck_assert_str_eq(text, "251, 502, 753, 1004, 1255, 1506, 1757");
	rate_list_format(&seven, text, 8);
	ck_assert_uint_lt(strlen(text), 8);
}

TEST(budgets)
{
	static const struct {
		const char *text;
		double share;
	} right[] = { { "0.1%", 0.001 }, { "1", 0.01 }, { "100%", 1 }, { "12.5", 0.125 }, { ".5%", 0.005 } };
	static const char *const wrong[] = { "", "%", "0", "0.0%", "101", "-1", "1e2", "1 %", "1%%", "1.2.3", "." };
	double share;
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		ck_assert_int_eq(rate_budget_parse(right[i].text, &share), 0);
		ck_assert_double_eq_tol(share, right[i].share, 1e-12);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_int_eq(rate_budget_parse(wrong[i], &share), -EINVAL);
}

#define SECOND UINT64_C(1000000000)

/* Whatever the strides were: what the windows count, each as often as its stride says, is all of the time. */
TEST(windows_count_for_the_pauses)
{
	static const uint32_t strides[] = { 2, 16, 3, 1 };
	struct duty_cycle cycle = { 0 };
	uint32_t random = 1;
	uint64_t now = 5 * SECOND, begin = now, shortest = UINT64_MAX, longest = 0;
	double counted = 0;
	for (int i = 0; i < 40000; i++) {
		uint32_t stride = strides[i / 10000];
		duty_cycle_begin(&cycle, stride, now);
		if (stride == 1)
			break;
		ck_assert_uint_eq(cycle.change - now, DUTY_WINDOW);
		uint64_t sampled = DUTY_WINDOW - 4000000;
		counted += (double)stride * (double)sampled;
		now += sampled + random % 10000000;     /* late */
		random = random * 1664525 + 1013904223; /* any generator will do */
		duty_cycle_pause(&cycle, sampled, random, now);
		if (stride == 16) {
			shortest = cycle.change - now < shortest ? cycle.change - now : shortest;
			longest = cycle.change - now > longest ? cycle.change - now : longest;
		}
		now = cycle.change + random % 10000000; /* late again */
	}
	ck_assert_uint_eq(cycle.change, UINT64_MAX);
	/* The ends differ by less than a block. */
	ck_assert_double_eq_tol(counted / (double)(now - begin), 1, 0.001);
	/* A pause is half of its mean to one and a half, 15 windows at this stride. */
	ck_assert_uint_lt(shortest, 9 * DUTY_WINDOW);
	ck_assert_uint_gt(shortest, 6 * DUTY_WINDOW);
	ck_assert_uint_gt(longest, 20 * DUTY_WINDOW);
	ck_assert_uint_lt(longest, 23 * DUTY_WINDOW);
}

TEST(automatic_rate)
{
	struct rate_control control;
	uint64_t now = SECOND;
	rate_control_init(&control, 6, now);
	ck_assert_uint_eq(rate_control_next(&control, &seven, now + SECOND, false, 0, 0.01), 6); /* too early */
	now += RATE_QUIET;
	ck_assert_uint_eq(rate_control_next(&control, &seven, now, false, 0.001, 0.01), 5);
	now += RATE_QUIET;
	ck_assert_uint_eq(rate_control_next(&control, &seven, now, false, 0.0085, 0.01), 5); /* would cost 0.0102 */
	ck_assert_uint_eq(rate_control_next(&control, &seven, now, false, 0.008, 0.01), 4);
	/* An overflow: one step back, and never there again. */
	now += SECOND;
	ck_assert_uint_eq(rate_control_next(&control, &seven, now, true, 0, 0.01), 5);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, false, 0, 0.01), 5);
	/* Also where there is no slower one. */
	ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, true, 0.02, 0.01), 6);
	ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, true, 0.02, 0.01), 6);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, false, 0, 0.01), 6);
}

/* Seconds until a faster rate is tried, with nothing to do meanwhile. */
static unsigned seconds_until_faster(struct rate_control *control, uint64_t *now)
{
	size_t position = control->position;
	unsigned seconds = 0;
	while (rate_control_next(control, &seven, *now += SECOND, false, 0, 0.01) == position && seconds < 10000)
		seconds++;
	ck_assert_uint_eq(control->position, position - 1);
	return seconds + 1;
}

/* A second that cost too much is one step back, and not the end of rate=auto. */
TEST(automatic_rate_after_a_second_that_cost_too_much)
{
	struct rate_control control;
	uint64_t now = SECOND;
	rate_control_init(&control, 6, now);
	/* The slowest rate: nothing to step back to, so nothing but the quiet is waited for. */
	ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, false, 0.02, 0.01), 6);
	ck_assert_uint_eq(seconds_until_faster(&control, &now), RATE_QUIET / SECOND);
	seconds_until_faster(&control, &now);
	for (unsigned wait = 60; wait <= 1920; wait *= 2) {
		ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, false, 0.02, 0.01), 5);
		ck_assert_uint_eq(seconds_until_faster(&control, &now), wait);
	}
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(rate_control_next(&control, &seven, now += SECOND, false, 0.02, 0.01), 5);
		ck_assert_uint_eq(seconds_until_faster(&control, &now), RATE_RETRY_MAX / SECOND);
	}
	ck_assert_uint_eq(seconds_until_faster(&control, &now), RATE_QUIET / SECOND);
}

/* Looks until a GT without rows counts as dead. */
static unsigned looks_until_dead(struct gt_watchdog *watchdog, uint64_t rows)
{
	unsigned silent_checks = 1;
	while (!gt_watchdog_check(watchdog, rows, true) && silent_checks < 100000)
		silent_checks++;
	return silent_checks;
}

TEST(gt_that_is_silent)
{
	struct gt_watchdog watchdog = { 0 };
	ck_assert(!gt_watchdog_check(&watchdog, 0, true)); /* the first look compares with nothing */
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(!gt_watchdog_check(&watchdog, 0, false)); /* all are silent: no work, or the watchdog's */
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(!gt_watchdog_check(&watchdog, i + 1, true));
	ck_assert_uint_eq(looks_until_dead(&watchdog, 1000), GT_WATCHDOG_PATIENCE);
	ck_assert_uint_eq(looks_until_dead(&watchdog, 1000), 3 * GT_WATCHDOG_PATIENCE);
	for (unsigned i = 0; i < 10; i++)
		looks_until_dead(&watchdog, 1000);
	ck_assert_uint_eq(looks_until_dead(&watchdog, 1000), GT_WATCHDOG_PATIENCE_MAX);
	ck_assert(!gt_watchdog_check(&watchdog, 1001, true));
	ck_assert_uint_eq(looks_until_dead(&watchdog, 1001), GT_WATCHDOG_PATIENCE);
}

TEST(automatic_rate_ends_at_the_fastest)
{
	struct rate_control control;
	uint64_t now = 0;
	rate_control_init(&control, 6, now);
	for (unsigned i = 0; i < 100; i++)
		rate_control_next(&control, &seven, now += SECOND, false, 0, 0.01);
	ck_assert_uint_eq(control.position, 0);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
