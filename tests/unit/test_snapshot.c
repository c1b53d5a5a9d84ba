/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot has all that the tables have, or that of an interval, and knows how much memory it takes. */
#include <check.h>
#include <stdlib.h>

#include "profile/snapshot.h"
#include "../run_suite.h"

#define SLOT UINT64_C(1000)
/* Of a copy without its arrays. */
#define COPY_SIZE                                                                                                      \
	(sizeof(struct snapshot) + sizeof(struct snapshot_memory) + sizeof(struct iaprof_activity) + 2 * sizeof(void *))

static struct frame_table frames;
static struct value_table values;
static struct time_table times;
static struct loss loss;
static const struct iaprof_value_type types[] = { { .name = "cpu", .unit = "ns", .period = 10 },
						  { .name = "gpu", .unit = "count" } };
static const char *const metadata[] = { "machine", "here", "kernel", "6" };
static struct snapshot *snapshot;

static void set_up(void)
{
	frames = (struct frame_table){ 0 };
	values = (struct value_table){ 0 };
	times = (struct time_table){ .resolution = SLOT };
	loss = (struct loss){ 0 };
	snapshot = NULL;
}

static void tear_down(void)
{
	snapshot_release(snapshot);
	frame_table_free(&frames);
	value_table_free(&values);
	time_table_free(&times);
	loss_free(&loss);
}

static const struct iaprof_profile *take(bool total)
{
	snapshot_release(snapshot);
	snapshot = snapshot_new(&(struct snapshot_content){ .frames = &frames,
							    .values = &values,
							    .times = &times,
							    .value_types = types,
							    .value_type_count = 2,
							    .loss = &loss,
							    .metadata = metadata,
							    .metadata_count = 4,
							    .total = total });
	ck_assert_ptr_nonnull(snapshot);
	ck_assert_uint_eq(snapshot->profile.flags, total ? IAPROF_PROFILE_TOTAL : 0);
	return &snapshot->profile;
}

static uint32_t add_stack(const char *const *names, uint32_t count)
{
	uint32_t ids[8];
	for (uint32_t i = 0; i < count; i++)
		ids[i] = frame_table_add(
			&frames, &(struct iaprof_frame){ .name = names[i], .kind = IAPROF_FRAME_USER, .line = i });
	return frame_table_add_stack(&frames, ids, count, NULL);
}

static const char *const deep[] = { "main", "work", "leaf" }, *const flat[] = { "main" };

TEST(all_of_a_run_is_copied)
{
	uint32_t first = add_stack(deep, 3), second = add_stack(flat, 1);
	ck_assert(frame_table_add_module(&frames, "/lib/a", (const uint8_t *)"1234", 4));
	ck_assert(value_table_add(&values, first, 0, 100, 2) && value_table_add(&values, second, 1, 7, 1));
	value_table_begin_interval(&values);
	ck_assert(value_table_add(&values, second, 1, 3, 1));
	time_table_add(&times, first, 0, 5 * SLOT, 7 * SLOT, 100);
	time_table_add(&times, second, 1, 9 * SLOT, 9 * SLOT, 10);
	loss_add(&loss, "s", "r", 1, 3, 4, 5, 6);
	const struct iaprof_profile *profile = take(true);
	ck_assert_uint_eq(profile->size, sizeof *profile);
	ck_assert_uint_eq(profile->frame_count, frames.frames.count);
	ck_assert_uint_eq(profile->stack_count, 2);
	ck_assert_uint_eq(profile->value_count, 2);
	ck_assert_uint_eq(profile->value_type_count, 2);
	ck_assert_uint_eq(profile->lost_count, 1);
	ck_assert_uint_eq(profile->module_count, 1);
	ck_assert_str_eq(iaprof_profile_module(profile, 0)->path, "/lib/a");
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, first);
	ck_assert_uint_eq(stack->frame_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_str_eq(iaprof_profile_frame(profile, stack->frames[i])->name, deep[i]);
		ck_assert_uint_eq(iaprof_profile_frame(profile, stack->frames[i])->line, i);
	}
	ck_assert_uint_eq(iaprof_profile_stack(profile, second)->frame_count, 1);
	const struct iaprof_value *value = iaprof_profile_value(profile, 1);
	ck_assert_uint_eq(value->stack, second);
	ck_assert_uint_eq(value->value_type, 1);
	ck_assert_uint_eq(value->value, 10);
	ck_assert_uint_eq(value->count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_str_eq(iaprof_profile_value_type(profile, i)->name, types[i].name);
		ck_assert_uint_eq(iaprof_profile_value_type(profile, i)->period, types[i].period);
		ck_assert_uint_eq(iaprof_profile_value_type(profile, i)->added_up_over, i ? 0 : 2 * SLOT);
	}
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(profile->metadata[i], metadata[i]);
	ck_assert_ptr_null(profile->metadata[4]);
	ck_assert_uint_eq(profile->time_count, 3);
	ck_assert_uint_eq(profile->time_total_count, 3);
	ck_assert_uint_eq(profile->time_width, SLOT);
	ck_assert_uint_eq(profile->total_width, SLOT);
	static const uint64_t slots[] = { 5 * SLOT, 6 * SLOT, 9 * SLOT };
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(iaprof_profile_time(profile, i)->time, slots[i]);
		ck_assert_uint_eq(iaprof_profile_time_total(profile, i)->time, slots[i]);
		ck_assert_uint_eq(iaprof_profile_time(profile, i)->value, i < 2 ? 50 : 10);
	}
	ck_assert_ptr_null(profile->activity);
	ck_assert_uint_eq(snapshot->size, COPY_SIZE + 5 * sizeof(char *) + 2 * sizeof *types +
						  frames.frames.count * sizeof(struct iaprof_frame) +
						  2 * sizeof(struct iaprof_stack) + 4 * sizeof(uint32_t) +
						  sizeof(struct iaprof_module) + 2 * sizeof(struct iaprof_value) +
						  sizeof(struct iaprof_lost) + 6 * sizeof(struct iaprof_time_value));
}

/* Slots that became wider still begin when they do. */
TEST(wider_slots_have_their_width)
{
	times.stacks.doublings = 2;
	times.totals.doublings = 1;
	time_table_add(&times, add_stack(flat, 1), 0, 9 * SLOT, 9 * SLOT, 10);
	const struct iaprof_profile *profile = take(true);
	ck_assert_uint_eq(profile->time_width, 4 * SLOT);
	ck_assert_uint_eq(profile->total_width, 2 * SLOT);
	ck_assert_uint_eq(iaprof_profile_time(profile, 0)->time, 8 * SLOT);
	ck_assert_uint_eq(iaprof_profile_time_total(profile, 0)->time, 8 * SLOT);
}

/* An interval has the values and losses that came in it, and no times. */
TEST(an_interval_is_what_came_in_it)
{
	uint32_t stack = add_stack(deep, 3);
	for (uint32_t type = 0; type < 2; type++)
		ck_assert(value_table_add(&values, stack, type, 100, 2));
	ck_assert(value_table_add(&values, add_stack(flat, 1), 0, 100, 2));
	static const char *const reasons[] = { "none", "count", "value", "unknown" };
	for (size_t i = 0; i < 4; i++)
		loss_add(&loss, "s", reasons[i], 1, 1, 2, 10, 10);
	time_table_add(&times, stack, 0, 9 * SLOT, 9 * SLOT, 10);
	value_table_begin_interval(&values);
	loss_begin_interval(&loss);
	const struct iaprof_profile *profile = take(false);
	ck_assert_uint_eq(profile->value_count + profile->lost_count + profile->time_count, 0);
	ck_assert(value_table_add(&values, stack, 0, 0, 3));
	ck_assert(value_table_add(&values, stack, 1, 4, 0));
	loss_add(&loss, "s", reasons[1], 1, 1, 2, 5, 0);
	loss_add(&loss, "s", reasons[2], 1, 1, 2, 0, 6);
	loss_add(&loss, "s", reasons[3], 1, 1, 2, IAPROF_COUNT_UNKNOWN, 0);
	profile = take(false);
	ck_assert_uint_eq(profile->value_count, 2);
	ck_assert_uint_eq(iaprof_profile_value(profile, 0)->count, 3);
	ck_assert_uint_eq(iaprof_profile_value(profile, 0)->value, 0);
	ck_assert_uint_eq(iaprof_profile_value(profile, 1)->value, 4);
	ck_assert_uint_eq(profile->lost_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		ck_assert_str_eq(lost->reason, reasons[i + 1]);
		ck_assert_uint_eq(lost->count, i == 0 ? 5 : 0);
		ck_assert_uint_eq(lost->value, i == 1 ? 6 : 0);
		ck_assert_uint_eq(lost->unknown, i == 2);
		ck_assert_uint_eq(lost->begin, 1);
		ck_assert_uint_eq(lost->end, 2);
		ck_assert_uint_eq(lost->value_type, 1);
	}
	ck_assert_uint_eq(profile->time_count + profile->time_total_count, 0);
	profile = take(true);
	ck_assert_uint_eq(profile->value_count, 3);
	ck_assert_uint_eq(profile->lost_count, 4);
	ck_assert_uint_eq(iaprof_profile_lost(profile, 3)->count, 10);
	ck_assert_uint_eq(iaprof_profile_lost(profile, 1)->count, 15);
}

/* As many losses of unknown counts as a profile can say. */
TEST_LOOP(unknown_losses_are_cut_off, 0, 3)
{
	loss_add(&loss, "s", "r", 1, 1, 2, IAPROF_COUNT_UNKNOWN, 0);
	loss.entries.items[0].unknown = loss.entries.items[0].interval_unknown = UINT32_MAX - 1 + (uint64_t)_i;
	for (int total = 0; total < 2; total++)
		ck_assert_uint_eq(iaprof_profile_lost(take(total), 0)->unknown, _i ? UINT32_MAX : UINT32_MAX - 1);
}

/* It is there as long as anybody refers to it. */
TEST(who_refers_to_a_snapshot_has_it)
{
	take(true);
	struct snapshot *other = snapshot_reference(snapshot);
	ck_assert_ptr_eq(other, snapshot);
	ck_assert_uint_eq(atomic_load(&snapshot->references), 2);
	snapshot_release(other);
	ck_assert_uint_eq(atomic_load(&snapshot->references), 1);
	ck_assert_str_eq(snapshot->profile.metadata[1], "here");
	snapshot_release(NULL);
}

/* Without anything there are arrays all the same, and no time. */
TEST(an_empty_profile_is_one)
{
	times.resolution = 0;
	const struct iaprof_profile *profile = take(true);
	ck_assert(profile->frames && profile->stacks && profile->values && profile->lost && profile->modules);
	ck_assert_uint_eq(profile->frame_count + profile->stack_count + profile->value_count + profile->lost_count +
				  profile->module_count + profile->time_count,
			  0);
	ck_assert_uint_eq(profile->time_width + profile->total_width, 0);
	ck_assert_uint_eq(snapshot->size, COPY_SIZE + 5 * sizeof(char *) + 2 * sizeof *types);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
