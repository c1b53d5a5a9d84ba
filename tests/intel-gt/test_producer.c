/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction waits for, in code of Xe2 that is made here, word by word, to have one way or another to it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "decoder-intel-gt/opcode.h"
#include "decoder-intel-gt/producer.h"
#include "../run_suite.h"

/* Values of the scoreboard. */
#define ALL_AT(distance) (0x008u | (distance))
#define FLOAT_AT(distance) (0x010u | (distance))
#define INTEGER_AT(distance) (0x018u | (distance))
#define INFERRED_AT(distance) (0x000u | (distance))
#define TOKEN_DESTINATION(token) (0x080u | (token))
#define TOKEN_SOURCE(token) (0x0a0u | (token))
#define TOKEN_SET(token) (0x0c0u | (token))

#define TYPE_UD 2u
#define TYPE_F 10u
#define TYPE_DF 11u

#define MAXIMUM 64

static uint32_t words[GT_PRODUCER_STEPS_MAX + 2][4];
static uint32_t count;

static void setup(void)
{
	memset(words, 0, sizeof words);
	count = 0;
}

/* Each adds an instruction of 16 bytes and gives its number. */
static uint32_t add(unsigned opcode, unsigned scoreboard, uint32_t second)
{
	ck_assert_uint_lt(count, sizeof words / sizeof words[0]);
	words[count][0] = opcode | scoreboard << 8 | 3u << 18;
	words[count][1] = second;
	return count++;
}

static uint32_t mov(unsigned type, unsigned scoreboard)
{
	return add(GT_OPCODE_MOV, scoreboard, 0x02050000u | type << 4 | type << 8);
}

static uint32_t send(unsigned scoreboard)
{
	return add(GT_OPCODE_SEND, scoreboard, 1u << 18);
}

/* A send that writes no register. */
static uint32_t store(unsigned scoreboard)
{
	return add(GT_OPCODE_SEND, scoreboard, 0);
}

static uint32_t sync(unsigned function, unsigned scoreboard)
{
	uint32_t number = add(GT_OPCODE_SYNC, scoreboard, 0);
	words[number][2] = function << 28;
	return number;
}

/* A branch whose targets come later, by aim(). */
static uint32_t branch(unsigned opcode, bool predicated)
{
	uint32_t number = add(opcode, 0, 0x0000c000);
	words[number][0] |= (uint32_t)predicated << 26;
	return number;
}

static void aim(uint32_t number, uint32_t target, uint32_t target_2)
{
	words[number][3] = (target - number) * 16;
	words[number][2] = (target_2 - number) * 16;
}

/* What is found for an instruction: numbers of instructions, ended by UINT32_MAX. */
static void expect(uint32_t number, enum gt_wait wait, bool incomplete, const uint32_t *expected)
{
	struct gt_code code;
	struct gt_flow flow;
	struct gt_producers producers;
	ck_assert_int_eq(gt_code_walk(GT_XE2, words, count * sizeof words[0], &code), 0);
	ck_assert_uint_eq(code.count, count);
	ck_assert_int_eq(gt_flow_build(&code, &flow), 0);
	ck_assert_int_eq(gt_producers_find(&flow, number, &producers), 0);
	size_t found = 0;
	for (; found < producers.count; found++) {
		ck_assert_uint_eq(producers.items[found].instruction, expected[found]);
		ck_assert_int_eq(producers.items[found].wait, wait);
	}
	ck_assert_uint_eq(expected[found], UINT32_MAX);
	ck_assert_int_eq(producers.incomplete, incomplete);
	gt_producers_free(&producers);
	gt_flow_free(&flow);
	gt_code_free(&code);
}

#define EXPECT(number, wait, ...) expect(number, wait, false, (const uint32_t[]){ __VA_ARGS__ UINT32_MAX })
#define EXPECT_INCOMPLETE(number, wait, ...) expect(number, wait, true, (const uint32_t[]){ __VA_ARGS__ UINT32_MAX })

TEST(the_nearest_that_takes_the_token)
{
	send(TOKEN_SET(3));
	uint32_t nearest = send(TOKEN_SET(3));
	send(TOKEN_SET(4));
	uint32_t was_read = mov(TYPE_UD, TOKEN_SOURCE(3));
	uint32_t written = mov(TYPE_UD, TOKEN_DESTINATION(3));
	uint32_t last = send(TOKEN_SET(3));
	uint32_t again = send(TOKEN_SET(3));
	uint32_t nothing = mov(TYPE_UD, TOKEN_DESTINATION(5));
	EXPECT(written, GT_WAIT_DESTINATION, nearest, );
	EXPECT(was_read, GT_WAIT_SOURCE, nearest, );
	EXPECT(last, GT_WAIT_TOKEN, );
	EXPECT(again, GT_WAIT_TOKEN, last, );
	EXPECT(nothing, GT_WAIT_DESTINATION, );
	EXPECT(count, GT_WAIT_DESTINATION, );
}

/* What an earlier instruction has waited for is over. _i: the owner writes no register. */
TEST_LOOP(owners_that_have_finished, 0, 2)
{
	uint32_t owner = _i ? store(TOKEN_SET(0)) : send(TOKEN_SET(0));
	uint32_t reads = mov(TYPE_UD, TOKEN_SOURCE(0)), reads_again = mov(TYPE_UD, TOKEN_SOURCE(0));
	uint32_t reuses = send(TOKEN_SET(0));
	EXPECT(reads, GT_WAIT_SOURCE, owner, );
	EXPECT(reads_again, GT_WAIT_SOURCE, );
	if (_i)
		EXPECT(reuses, GT_WAIT_TOKEN, );
	else
		EXPECT(reuses, GT_WAIT_TOKEN, owner, );
	words[reads_again][0] = (words[reads_again][0] & ~0x3ff00u) | TOKEN_DESTINATION(0) << 8;
	if (_i)
		EXPECT(reads_again, GT_WAIT_DESTINATION, );
	else
		EXPECT(reads_again, GT_WAIT_DESTINATION, owner, );
	EXPECT(reuses, GT_WAIT_TOKEN, );
	words[reads][0] = (words[reads][0] & ~0x3ff00u) | TOKEN_DESTINATION(0) << 8;
	EXPECT(reads, GT_WAIT_DESTINATION, owner, );
	EXPECT(reads_again, GT_WAIT_DESTINATION, );
}

/* Masks of a sync end owners, too. _i: sync.allrd, after which those without a destination have finished. */
TEST_LOOP(owners_that_a_mask_waited_for, 0, 2)
{
	uint32_t load = send(TOKEN_SET(0));
	store(TOKEN_SET(1));
	uint32_t other = send(TOKEN_SET(2));
	uint32_t mask = sync(_i ? 2 : 3, 0);
	words[mask][1] = 0x4000; /* a number follows */
	words[mask][3] = 3;
	uint32_t reuses_0 = send(TOKEN_SET(0)), reuses_1 = send(TOKEN_SET(1)), reuses_2 = send(TOKEN_SET(2));
	if (_i)
		EXPECT(reuses_0, GT_WAIT_TOKEN, load, );
	else
		EXPECT(reuses_0, GT_WAIT_TOKEN, );
	EXPECT(reuses_1, GT_WAIT_TOKEN, );
	EXPECT(reuses_2, GT_WAIT_TOKEN, other, );
}

/* The owner has finished on one way, and has only read its sources on another. */
TEST(owners_that_have_finished_on_one_way)
{
	uint32_t owner = send(TOKEN_SET(0));
	uint32_t condition = branch(0x22, true); /* if */
	mov(TYPE_UD, TOKEN_DESTINATION(0));
	uint32_t otherwise = branch(0x24, false); /* else */
	uint32_t reads = mov(TYPE_UD, TOKEN_SOURCE(0));
	uint32_t end = branch(0x25, false); /* endif */
	uint32_t waits = mov(TYPE_UD, TOKEN_SOURCE(0)), reuses = send(TOKEN_SET(0));
	aim(condition, reads, end);
	aim(otherwise, end, end);
	aim(end, waits, waits);
	/* Both ways from the condition to its end are possible: that of "if" goes there, too. */
	EXPECT(waits, GT_WAIT_SOURCE, owner, );
	EXPECT(reuses, GT_WAIT_TOKEN, owner, );
	words[condition][2] = words[condition][3];
	EXPECT(waits, GT_WAIT_SOURCE, );
	EXPECT(reuses, GT_WAIT_TOKEN, owner, );
	words[owner][1] = 0;
	EXPECT(reuses, GT_WAIT_TOKEN, );
}

TEST(both_arms_of_a_condition)
{
	uint32_t before = send(TOKEN_SET(1));
	uint32_t condition = branch(0x22, true); /* if */
	uint32_t first = send(TOKEN_SET(0));
	uint32_t otherwise = branch(0x24, false); /* else */
	uint32_t second = send(TOKEN_SET(0));
	uint32_t end = branch(0x25, false); /* endif */
	uint32_t waits = mov(TYPE_UD, TOKEN_DESTINATION(0)), waits_1 = mov(TYPE_UD, TOKEN_DESTINATION(1));
	aim(condition, second, end);
	aim(otherwise, end, end);
	aim(end, waits, waits);
	EXPECT(waits, GT_WAIT_DESTINATION, first, second, );
	EXPECT(waits_1, GT_WAIT_DESTINATION, before, );
}

TEST(around_a_loop)
{
	uint32_t before = send(TOKEN_SET(0));
	uint32_t waits = mov(TYPE_UD, TOKEN_DESTINATION(0));
	uint32_t itself = send(TOKEN_SET(2));
	uint32_t inside = send(TOKEN_SET(0));
	uint32_t back = branch(0x27, true); /* while */
	aim(back, waits, 0);
	uint32_t after = mov(TYPE_UD, TOKEN_DESTINATION(2));
	EXPECT(waits, GT_WAIT_DESTINATION, before, inside, );
	EXPECT(itself, GT_WAIT_TOKEN, itself, );
	EXPECT(after, GT_WAIT_DESTINATION, itself, );
}

TEST(jumps_without_a_condition_do_not_go_on)
{
	uint32_t first = send(TOKEN_SET(0));
	uint32_t jump = branch(GT_OPCODE_JMPI, false);
	send(TOKEN_SET(0));
	uint32_t waits = mov(TYPE_UD, TOKEN_DESTINATION(0));
	aim(jump, waits, 0);
	/* What is jumped over has no way to it, but would fall through. */
	EXPECT(waits, GT_WAIT_DESTINATION, first, 2, );
	words[2][0] = GT_OPCODE_RET;
	EXPECT(waits, GT_WAIT_DESTINATION, first, );
	words[2][0] = GT_OPCODE_SEND | TOKEN_SET(0) << 8;
	words[2][1] = 1u << 2; /* end of thread */
	EXPECT(waits, GT_WAIT_DESTINATION, first, );
}

/* Whether the instruction behind a branch, to which nothing else leads, is reached. */
static void expect_next(unsigned opcode, bool predicated, bool reached)
{
	setup();
	uint32_t first = send(TOKEN_SET(0)), other = branch(opcode, predicated);
	uint32_t behind = mov(TYPE_UD, TOKEN_DESTINATION(0)), far = mov(TYPE_UD, TOKEN_DESTINATION(0));
	aim(other, far, far);
	if (reached)
		EXPECT(behind, GT_WAIT_DESTINATION, first, );
	else
		EXPECT(behind, GT_WAIT_DESTINATION, );
	EXPECT(far, GT_WAIT_DESTINATION, first, );
}

TEST(branches_that_all_channels_take)
{
	static const unsigned leaving[] = { GT_OPCODE_JMPI, GT_OPCODE_GOTO, GT_OPCODE_BRD, GT_OPCODE_BRC };
	static const unsigned staying[] = { GT_OPCODE_IF,     GT_OPCODE_ELSE, GT_OPCODE_ENDIF, GT_OPCODE_WHILE,
					    0x28 /* break */, GT_OPCODE_CALL, GT_OPCODE_JOIN };
	for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++) {
		expect_next(leaving[i], false, false);
		expect_next(leaving[i], true, true);
	}
	for (size_t i = 0; i < sizeof staying / sizeof staying[0]; i++)
		expect_next(staying[i], false, true);
}

TEST(calls_come_back_and_lead_in)
{
	uint32_t first = send(TOKEN_SET(0));
	uint32_t call = branch(GT_OPCODE_CALL, false);
	uint32_t behind = mov(TYPE_UD, TOKEN_DESTINATION(0));
	uint32_t jump = branch(GT_OPCODE_JMPI, false);
	uint32_t called = mov(TYPE_UD, TOKEN_SOURCE(0));
	send(TOKEN_SET(0));
	branch(GT_OPCODE_RET, false);
	aim(call, called, 0);
	aim(jump, count, 0); /* out of the code */
	EXPECT(called, GT_WAIT_SOURCE, first, );
	EXPECT(behind, GT_WAIT_DESTINATION, first, );
}

TEST(masks_of_tokens)
{
	uint32_t a = send(TOKEN_SET(0)), b = send(TOKEN_SET(5)), c = send(TOKEN_SET(31));
	uint32_t all_read = sync(2, 0), all_written = sync(3, 0), some = sync(3, 0), bar = sync(14, 0);
	words[some][1] = 0x4000; /* a number follows */
	words[some][3] = 1u << 31 | 1u << 5 | 1u << 6;
	EXPECT(all_read, GT_WAIT_SOURCE, a, b, c, );
	EXPECT(all_written, GT_WAIT_DESTINATION, a, b, c, );
	EXPECT(some, GT_WAIT_DESTINATION, );
	words[all_written][2] = 14u << 28;
	EXPECT(some, GT_WAIT_DESTINATION, b, c, );
	EXPECT(bar, GT_WAIT_DESTINATION, );
	/* The scoreboard of a sync counts as well. */
	words[some][3] = 1u << 31;
	words[some][0] |= TOKEN_DESTINATION(5) << 8;
	EXPECT(some, GT_WAIT_DESTINATION, b, c, );
}

TEST(distances_count_one_pipe)
{
	uint32_t i1 = mov(TYPE_UD, 0), f1 = mov(TYPE_F, 0), l1 = mov(TYPE_DF, 0);
	send(TOKEN_SET(0));
	sync(0, 0);
	uint32_t i2 = mov(TYPE_UD, 0), f2 = mov(TYPE_F, 0);
	uint32_t waits = mov(TYPE_UD, INTEGER_AT(2));
	EXPECT(waits, GT_WAIT_DISTANCE, i1, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | INTEGER_AT(1) << 8;
	EXPECT(waits, GT_WAIT_DISTANCE, i2, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | FLOAT_AT(2) << 8;
	EXPECT(waits, GT_WAIT_DISTANCE, f1, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | 0x021u << 8; /* L@1 */
	EXPECT(waits, GT_WAIT_DISTANCE, l1, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | ALL_AT(1) << 8;
	EXPECT(waits, GT_WAIT_DISTANCE, f2, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | ALL_AT(4) << 8;
	EXPECT(waits, GT_WAIT_DISTANCE, f1, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | ALL_AT(7) << 8; /* there are not so many */
	EXPECT(waits, GT_WAIT_DISTANCE, );
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | INFERRED_AT(2) << 8; /* the source is an integer */
	EXPECT(waits, GT_WAIT_DISTANCE, i1, );
}

TEST(distances_follow_each_way)
{
	uint32_t first = mov(TYPE_UD, 0), jump = branch(GT_OPCODE_GOTO, true);
	uint32_t skipped = mov(TYPE_UD, 0), waits = mov(TYPE_UD, INTEGER_AT(2)), waits_3 = mov(TYPE_UD, INTEGER_AT(3));
	aim(jump, waits, waits);
	/* The branch counts: it is the second on one way, and the first on the other. */
	EXPECT(waits, GT_WAIT_DISTANCE, first, jump, );
	EXPECT(waits_3, GT_WAIT_DISTANCE, first, jump, );
	(void)skipped;
	words[waits][0] = (words[waits][0] & ~0x3ff00u) | ALL_AT(2) << 8; /* for which it does not count */
	EXPECT(waits, GT_WAIT_DISTANCE, first, );
}

TEST(distances_around_a_loop)
{
	uint32_t only = mov(TYPE_UD, INTEGER_AT(7));
	uint32_t back = branch(0x27, true);
	aim(back, only, 0);
	/* Seven back: branch, only, branch, only... */
	EXPECT(only, GT_WAIT_DISTANCE, back, );
	words[only][0] = (words[only][0] & ~0x3ff00u) | INTEGER_AT(6) << 8;
	EXPECT(only, GT_WAIT_DISTANCE, only, );
}

TEST(states_where_it_cannot_see)
{
	uint32_t first = send(TOKEN_SET(0));
	uint32_t unknown = mov(TYPE_UD, 0);
	uint32_t waits = mov(TYPE_UD, TOKEN_DESTINATION(0)), close = mov(TYPE_UD, INTEGER_AT(1));
	EXPECT(waits, GT_WAIT_DESTINATION, first, );
	words[unknown][0] = 0x3e; /* no instruction */
	EXPECT_INCOMPLETE(waits, GT_WAIT_DESTINATION, );
	EXPECT(close, GT_WAIT_DISTANCE, waits, );
}

TEST(gives_up_far_away)
{
	uint32_t first = send(TOKEN_SET(0));
	while (count < GT_PRODUCER_STEPS_MAX)
		mov(TYPE_UD, 0);
	uint32_t reaches = mov(TYPE_UD, TOKEN_DESTINATION(0)), too_far = mov(TYPE_UD, TOKEN_DESTINATION(0));
	EXPECT(reaches, GT_WAIT_DESTINATION, first, );
	words[reaches][0] &= ~0x3ff00u;
	EXPECT_INCOMPLETE(too_far, GT_WAIT_DESTINATION, );
}

/* Each instruction jumps on to the next one: as many blocks, with a step into each and one in it. */
TEST(gives_up_far_away_in_many_blocks)
{
	uint32_t first = send(TOKEN_SET(0));
	while (count <= GT_PRODUCER_STEPS_MAX / 2) {
		uint32_t number = branch(GT_OPCODE_JMPI, false);
		aim(number, number + 1, 0);
	}
	uint32_t too_far = mov(TYPE_UD, TOKEN_DESTINATION(0));
	EXPECT_INCOMPLETE(too_far, GT_WAIT_DESTINATION, );
	words[2][0] = GT_OPCODE_SEND | TOKEN_SET(0) << 8;
	EXPECT(too_far, GT_WAIT_DESTINATION, 2, );
	(void)first;
}

TEST(ends_whatever_the_branches)
{
	/* Every instruction a fork to two others and a wait for all tokens: more ways than could be walked one by one.
	 */
	srandom(205);
	for (int round = 0; round < 50; round++) {
		setup();
		for (unsigned i = 0; i < MAXIMUM; i++) {
			uint32_t number = i % 3 ? branch(GT_OPCODE_GOTO, true) : sync(2, TOKEN_SET(i % 32));
			words[number][0] |= (i % 3 ? (unsigned)random() % 0x400 : 0u) << 8;
			if (i % 3)
				aim(number, (uint32_t)random() % MAXIMUM, (uint32_t)random() % MAXIMUM);
		}
		struct gt_code code;
		struct gt_flow flow;
		ck_assert_int_eq(gt_code_walk(GT_XE2, words, MAXIMUM * sizeof words[0], &code), 0);
		ck_assert_int_eq(gt_flow_build(&code, &flow), 0);
		for (uint32_t i = 0; i < code.count; i++) {
			struct gt_producers producers;
			ck_assert_int_eq(gt_producers_find(&flow, i, &producers), 0);
			for (size_t k = 1; k < producers.count; k++)
				ck_assert_uint_le(producers.items[k - 1].instruction, producers.items[k].instruction);
			gt_producers_free(&producers);
		}
		gt_flow_free(&flow);
		gt_code_free(&code);
	}
}

int main(void)
{
	return run_all_tests(0, setup, NULL);
}
