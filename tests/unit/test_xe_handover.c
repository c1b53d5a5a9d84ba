/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that an instance of xe-eustall leaves to another one: each descriptor has one owner at any time, and none is
 * left open or closed twice. The write end of a pipe is the stream: whether it is closed is seen at the read end.
 */
#include <check.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "xe-eustall/stream_handover.h"
#include "../run_suite.h"

#define ADDRESS "0000:03:00.0"

static struct handed_stream stream_new(uint32_t gt, int *reader)
{
	struct handed_stream stream = { .address = ADDRESS, .gt = gt, .cycles = 251 * (gt + 1) };
	int pipes[2];

	ck_assert_int_eq(pipe(pipes), 0);
	*reader = pipes[0];
	stream.stream = pipes[1];
	return stream;
}

static bool is_open(int reader)
{
	struct pollfd state = { .fd = reader };

	ck_assert_int_ge(poll(&state, 1, 0), 0);
	return !(state.revents & POLLHUP);
}

static struct stream_handover *handover_new(void)
{
	struct stream_handover *handover = stream_handover_new();

	ck_assert_ptr_nonnull(handover);
	for (uint32_t gt = 0; gt < 3; gt++)
		ck_assert_int_eq(stream_handover_add(handover, ADDRESS, gt), 0);
	return handover;
}

TEST(a_claimed_stream_is_taken)
{
	struct stream_handover *handover = handover_new(), *later = stream_handover_attach(handover);
	struct handed_stream stream, taken;
	int reader;

	ck_assert(stream_handover_claim(later, ADDRESS, 1));
	ck_assert(!stream_handover_claim(later, ADDRESS, 3));
	ck_assert(!stream_handover_claim(later, "0000:04:00.0", 1));
	ck_assert(!stream_handover_take(later, ADDRESS, 1, &taken));
	stream = stream_new(1, &reader);
	ck_assert(stream_handover_put(handover, &stream));
	ck_assert(!stream_handover_put(handover, &stream));
	ck_assert(!stream_handover_has_ended(later));
	stream_handover_end(handover);
	ck_assert(stream_handover_has_ended(later));
	ck_assert(stream_handover_take(later, ADDRESS, 1, &taken));
	ck_assert_int_eq(taken.stream, stream.stream);
	ck_assert_uint_eq(taken.cycles, 502);
	ck_assert(!stream_handover_take(later, ADDRESS, 1, &taken));
	stream_handover_detach(later);
	stream_handover_free(handover);
	ck_assert(is_open(reader));
	close(taken.stream);
	ck_assert(!is_open(reader));
	close(reader);
}

TEST(nobody_wants_a_stream)
{
	struct stream_handover *handover = handover_new();
	struct handed_stream stream;
	int reader;

	stream = stream_new(0, &reader);
	ck_assert(!stream_handover_put(handover, &stream));
	struct stream_handover *later = stream_handover_attach(handover);
	ck_assert(stream_handover_claim(later, ADDRESS, 2));
	ck_assert(!stream_handover_put(handover, &stream));
	/* One that failed is followed by another one. */
	ck_assert(stream_handover_claim(later, ADDRESS, 0));
	stream_handover_begin(later, 17);
	ck_assert_uint_eq(stream_handover_since(handover), 17);
	stream_handover_detach(later);
	ck_assert_uint_eq(stream_handover_since(handover), UINT64_MAX);
	ck_assert(!stream_handover_put(handover, &stream));
	later = stream_handover_attach(handover);
	ck_assert(stream_handover_claim(later, ADDRESS, 0));
	ck_assert(stream_handover_put(handover, &stream));
	ck_assert(is_open(reader));
	stream_handover_detach(later);
	ck_assert(!is_open(reader));
	stream_handover_free(handover);
	close(reader);
}

/* The earlier instance is destroyed before the later one looks, or without a word. */
TEST(the_earlier_one_is_gone)
{
	struct stream_handover *handover = handover_new(), *later = stream_handover_attach(handover);
	struct handed_stream streams[2], taken;
	int readers[2];

	for (uint32_t gt = 0; gt < 2; gt++) {
		streams[gt] = stream_new(gt, &readers[gt]);
		ck_assert(stream_handover_claim(later, ADDRESS, gt));
		ck_assert(stream_handover_put(handover, &streams[gt]));
	}
	ck_assert(stream_handover_claim(later, ADDRESS, 2));
	stream_handover_free(handover);
	ck_assert(stream_handover_has_ended(later));
	ck_assert(!stream_handover_take(later, ADDRESS, 2, &taken));
	ck_assert(stream_handover_take(later, ADDRESS, 0, &taken));
	stream_handover_detach(later);
	ck_assert(is_open(readers[0]));
	ck_assert(!is_open(readers[1]));
	close(taken.stream);
	close(readers[0]);
	close(readers[1]);
}

TEST(there_is_a_limit)
{
	struct stream_handover *handover = stream_handover_new();

	for (uint32_t gt = 0; gt < 64; gt++)
		ck_assert_int_eq(stream_handover_add(handover, ADDRESS, gt), 0);
	ck_assert_int_lt(stream_handover_add(handover, ADDRESS, 64), 0);
	stream_handover_free(handover);
	stream_handover_free(NULL);
	stream_handover_detach(NULL);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
