/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait in memory: their order, their size, and how much memory they take. */
#include <check.h>

#include "base/gzip.h"
#include "http/request_queue.h"
#include "../run_suite.h"

static struct request_queue queue;

static void setup(void)
{
	queue = (struct request_queue){ 0 };
}

static void teardown(void)
{
	while (queue.first)
		request_queue_remove(&queue, NULL);
}

static void add(struct request_queue *to, const char *letters, uint32_t count)
{
	struct text body = { 0 };
	text_append_string(&body, letters);
	ck_assert(request_queue_add(to, &body, count, false));
	ck_assert_ptr_null(body.data);
}

static void expect(const char *letters)
{
	size_t size = 0;
	const struct waiting_request *last = NULL;
	for (const struct waiting_request *request = queue.first; request; last = request, request = request->next) {
		ck_assert_mem_eq(request->body.data, letters + size, request->body.size);
		size += request->body.size;
	}
	ck_assert_uint_eq(letters[size], '\0');
	ck_assert_uint_eq(queue.size, size);
	ck_assert_ptr_eq(queue.last, last);
}

TEST(requests_leave_in_their_order_from_anywhere)
{
	add(&queue, "a", 1);
	add(&queue, "bb", 2);
	add(&queue, "ccc", 3);
	expect("abbccc");
	ck_assert_uint_eq(request_queue_count(&queue), 6);
	request_queue_remove(&queue, queue.first);
	expect("accc");
	request_queue_remove(&queue, queue.first);
	expect("a");
	add(&queue, "d", 4);
	expect("ad");
	request_queue_remove(&queue, NULL);
	request_queue_remove(&queue, NULL);
	expect("");
}

TEST(a_queue_moves_behind_another_one)
{
	struct request_queue other = { 0 };
	request_queue_move(&queue, &other);
	expect("");
	add(&other, "a", 1);
	request_queue_move(&queue, &other);
	add(&other, "b", 1);
	add(&other, "c", 1);
	request_queue_move(&queue, &other);
	expect("abc");
	ck_assert_ptr_null(other.first);
	ck_assert_uint_eq(other.size, 0);
}

/* The limit on what waits is one on memory. */
TEST(a_compressed_request_takes_no_more_memory_than_its_size)
{
	struct text body = { 0 };
	gzip_append(&body, "profile", 7);
	ck_assert(!body.failed);
	size_t size = body.size;
	ck_assert(request_queue_add(&queue, &body, 1, false));
	ck_assert_uint_eq(queue.size, size);
	ck_assert_uint_eq(queue.first->body.capacity, size);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
