/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which records pass: how long they wait for which others, and how many may wait. */
#include <check.h>

#include "profile/record_order.h"
#include "../run_suite.h"

#define HOLD 2000
#define SOURCE 3

static struct record_order order;
static uint32_t passed[2];       /* by wait: records that have passed */
static uint32_t expected_tid;    /* of the next one */
static const uint32_t *in_order; /* threads of the records that pass next; NULL: any */

static void pass(void *context, enum record_wait wait, const struct iaprof_record *record)
{
	const struct iaprof_record_job *job = (const void *)record;
	ck_assert_ptr_eq(context, &order);
	passed[wait - WAIT_PROCESSES]++;
	if (job->tid != (in_order ? *in_order : expected_tid))
		ck_abort_msg("thread %u passed", job->tid);
	expected_tid++;
	if (in_order)
		in_order++;
}

static void set_up(void)
{
	order = (struct record_order){ .hold = HOLD, .pass = pass, .context = &order };
	passed[0] = passed[1] = expected_tid = 0;
	in_order = NULL;
}

static void tear_down(void)
{
	record_order_free(&order);
}

static void add(enum record_wait wait, uint32_t tid, uint64_t time)
{
	struct iaprof_record_job job = { .header = { .size = sizeof job, .type = IAPROF_RECORD_JOB, .time = time },
					 .tid = tid };
	record_order_add(&order, wait, &job.header);
}

static void note(uint16_t source, uint16_t type, uint64_t time)
{
	record_order_note(&order, &(struct iaprof_record){ .type = type, .source = source, .time = time });
}

TEST(records_wait_for_a_sync_of_their_time)
{
	static const uint32_t threads[] = { 1, 3, 4, 2, 5 };
	in_order = threads;
	add(WAIT_PROCESSES, 1, 100);
	add(WAIT_PROCESSES, 2, 101);
	add(WAIT_PROCESSES, 3, 50);
	ck_assert_uint_eq(passed[0], 0);
	record_order_release(&order, WAIT_PROCESSES, 100);
	ck_assert_uint_eq(passed[0], 2);
	add(WAIT_PROCESSES, 4, 20); /* late */
	record_order_release(&order, WAIT_PROCESSES, 100);
	ck_assert_uint_eq(passed[0], 3);
	record_order_release(&order, WAIT_PROCESSES, 101);
	ck_assert_uint_eq(passed[0], 4);
	add(WAIT_PROCESSES, 5, UINT64_MAX);
	record_order_release(&order, WAIT_PROCESSES, UINT64_MAX);
	ck_assert_uint_eq(passed[0], 5);
	ck_assert_uint_eq(order.early + passed[1], 0);
}

TEST(records_of_devices_wait_for_all_sources_of_code)
{
	static const uint32_t threads[] = { 1, 2, 3 };
	in_order = threads;
	note(SOURCE, IAPROF_RECORD_KERNEL, 90);
	note(SOURCE + 1, IAPROF_RECORD_CODE_OBJECT, 90);
	add(WAIT_DEVICES, 1, 100);
	add(WAIT_DEVICES, 2, 101);
	add(WAIT_DEVICES, 3, 102);
	note(SOURCE, IAPROF_RECORD_PROGRESS, 101);
	record_order_release(&order, WAIT_DEVICES, 150);
	ck_assert_uint_eq(passed[1], 0);
	note(SOURCE + 1, IAPROF_RECORD_PROGRESS, 200);
	record_order_release(&order, WAIT_DEVICES, 100);
	ck_assert_uint_eq(passed[1], 0); /* a SYNC of the very time may precede other samples of it */
	record_order_release(&order, WAIT_DEVICES, 150);
	ck_assert_uint_eq(passed[1], 2);
	record_order_release(&order, WAIT_DEVICES, 102 + HOLD - 1);
	ck_assert_uint_eq(passed[1], 2);
	record_order_release(&order, WAIT_DEVICES, 102 + HOLD);
	ck_assert_uint_eq(passed[1], 3);
	ck_assert_uint_eq(order.early + passed[0], 0);
}

/* Code that comes later than its source has reported is counted; counters report nothing. */
TEST(late_code_is_counted)
{
	note(SOURCE, IAPROF_RECORD_KERNEL, 100);
	note(SOURCE, IAPROF_RECORD_COUNTER_VALUE, 120);
	note(SOURCE, IAPROF_RECORD_KERNEL, 110);
	ck_assert_uint_eq(order.late, 0);
	note(SOURCE, IAPROF_RECORD_PROGRESS, 105);
	note(SOURCE, IAPROF_RECORD_LAUNCH, 106);
	ck_assert_uint_eq(order.late, 0);
	note(SOURCE, IAPROF_RECORD_LAUNCH, 105);
	note(SOURCE, IAPROF_RECORD_CODE_OBJECT, 50);
	note(SOURCE + 1, IAPROF_RECORD_CODE_OBJECT, 50);
	ck_assert_uint_eq(order.late, 2);
}

/* With more than can wait, the older half passes early; none is lost. */
TEST_LOOP(records_that_wait_are_bounded, 0, 2)
{
	enum { ROOM = RECORD_STORE_SIZE_MAX / sizeof(struct iaprof_record_job) };
	enum record_wait wait = _i ? WAIT_DEVICES : WAIT_PROCESSES, other = _i ? WAIT_PROCESSES : WAIT_DEVICES;
	uint32_t half = RECORD_STORE_SIZE_MAX / 2 / sizeof(struct iaprof_record_job);
	for (uint32_t i = 0; i < ROOM; i++)
		add(wait, i, 100);
	ck_assert_uint_eq(passed[_i], 0);
	add(wait, ROOM, 100);
	ck_assert_uint_eq(passed[_i], half);
	ck_assert_uint_eq(order.early, half);
	record_order_release(&order, other, UINT64_MAX);
	ck_assert_uint_eq(passed[_i], half);
	record_order_release(&order, wait, UINT64_MAX);
	ck_assert_uint_eq(passed[_i], ROOM + 1);
	ck_assert_uint_eq(order.early, half);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
