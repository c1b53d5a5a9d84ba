/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of the NPU: the format of vpu:job, and which job is over where only functions tell that one is. */
#include <check.h>
#include <stdlib.h>

#include "job_events.h"
#include "../run_suite.h"

/* As Linux 6.13 shows it. */
#define FIELDS                                                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                         \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                                                   \
	"\tfield:const char * event;\toffset:8;\tsize:8;\tsigned:0;\n"                                                 \
	"\tfield:u32 ctx_id;\toffset:16;\tsize:4;\tsigned:0;\n"                                                        \
	"\tfield:u32 engine_id;\toffset:20;\tsize:4;\tsigned:0;\n"

TEST(reads_the_format)
{
	struct job_format format = { 0 };

	ck_assert(job_format_parse(&format,
				   "name: job\nID: 2161\nformat:\n" FIELDS
				   "\tfield:u32 job_id;\toffset:24;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n"));
	ck_assert_uint_eq(format.event, 8);
	ck_assert_uint_eq(format.context, 16);
	ck_assert_uint_eq(format.engine, 20);
	ck_assert_uint_eq(format.id, 24);
}

TEST(refuses_another_format)
{
	static const char *const texts[] = {
		"",
		FIELDS,
		FIELDS "\tfield:u64 job_id;\toffset:24;\tsize:8;\tsigned:0;\n",
		FIELDS "\tfield:u32 job_id;\toffset:4294967295;\tsize:4;\tsigned:0;\n",
		FIELDS "\tfield:job_id;\toffset:24;\tsize:4;\tsigned:0;\n",
		FIELDS "\tfield:u32 job_id;\toffset:24",
	};
	struct job_format format;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_msg(!job_format_parse(&format, texts[i]), "%zu", i);
}

static struct job_event submit(uint32_t pid, uint64_t submitted, uint64_t queued)
{
	return (struct job_event){ .type = JOB_EVENT_SUBMIT, .pid = pid, .submitted = submitted, .queued = queued };
}

static struct job_event end(uint32_t id, uint64_t time)
{
	return (struct job_event){ .type = JOB_EVENT_END, .id = id, .context = id >> 8, .ended = time };
}

static struct job_queue *queue_new(void)
{
	struct job_queue *queue = calloc(1, sizeof *queue);
	ck_assert_ptr_nonnull(queue);
	return queue;
}

TEST(the_oldest_is_over)
{
	struct job_queue *queue = queue_new();
	struct job_event job = { 0 },
			 events[] = { submit(1, 10, 11), submit(2, 12, 13), end(0x301, 20), end(0x302, 30) };

	events[3].flags = JOB_IS_ABORTED;
	ck_assert_int_eq(job_queue_submit(queue, &events[0], &job), JOB_QUEUE_NOTHING);
	ck_assert_int_eq(job_queue_submit(queue, &events[1], &job), JOB_QUEUE_NOTHING);
	ck_assert_int_eq(job_queue_end(queue, &events[2], &job), JOB_QUEUE_JOB);
	ck_assert(job.pid == 1 && job.submitted == 10 && job.queued == 11 && job.ended == 20 && !job.flags);
	ck_assert_int_eq(job_queue_end(queue, &events[3], &job), JOB_QUEUE_JOB);
	ck_assert(job.pid == 2 && job.id == 0x302 && job.context == 3 && job.flags == JOB_IS_ABORTED);
	ck_assert(!job_queue_take(queue, &job));
	free(queue);
}

TEST(a_context_is_one_programs)
{
	struct job_queue *queue = queue_new();
	struct job_event job = { 0 }, ends[] = { end(0x301, 20), end(0x402, 21), end(0x302, 40),
						 end(0x403, 41), end(0x404, 42), end(0x500, 43) };

	/* Learnt while each is alone. */
	for (uint32_t i = 0; i < 2; i++) {
		struct job_event alone = submit(i + 1, 10, 11);
		job_queue_submit(queue, &alone, &job);
		ck_assert_int_eq(job_queue_end(queue, &ends[i], &job), JOB_QUEUE_JOB);
	}
	struct job_event together[] = { submit(2, 30, 31), submit(2, 32, 33), submit(1, 34, 35), submit(2, 36, 37) };
	for (size_t i = 0; i < sizeof together / sizeof *together; i++)
		job_queue_submit(queue, &together[i], &job);
	static const struct {
		uint32_t pid;
		uint64_t submitted;
	} expected[] = { { 1, 34 }, { 2, 30 }, { 2, 32 }, { 2, 36 } };
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		ck_assert_int_eq(job_queue_end(queue, &ends[2 + i], &job), JOB_QUEUE_JOB);
		ck_assert(job.pid == expected[i].pid && job.submitted == expected[i].submitted);
	}
	ck_assert(!job_queue_take(queue, &job));
	free(queue);
}

TEST(an_end_may_come_first)
{
	struct job_queue *queue = queue_new();
	struct job_event job = { 0 }, of_before = end(1, 5), early = end(2, 15), before = submit(1, 10, 14),
			 with = submit(2, 12, 20);

	ck_assert_int_eq(job_queue_end(queue, &of_before, &job), JOB_QUEUE_NOTHING);
	ck_assert_int_eq(job_queue_end(queue, &early, &job), JOB_QUEUE_NOTHING);
	/* Neither ended in the course of this one. */
	ck_assert_int_eq(job_queue_submit(queue, &before, &job), JOB_QUEUE_NOTHING);
	ck_assert_int_eq(job_queue_submit(queue, &with, &job), JOB_QUEUE_JOB);
	ck_assert(job.pid == 2 && job.id == 2 && job.ended == 15);
	for (uint32_t i = 0; i < 3 * JOB_QUEUE_EARLY; i++) {
		job_queue_take(queue, &job);
		ck_assert_int_eq(job_queue_end(queue, &of_before, &job), JOB_QUEUE_NOTHING);
	}
	free(queue);
}

TEST(a_full_queue_is_reported)
{
	struct job_queue *queue = queue_new();
	struct job_event job = { 0 };

	for (uint32_t i = 0; i < 2 * JOBS_MAX; i++) {
		struct job_event event = submit(i, i, i);
		ck_assert_int_eq(job_queue_submit(queue, &event, &job),
				 i < JOBS_MAX ? JOB_QUEUE_NOTHING : JOB_QUEUE_FULL);
	}
	for (uint32_t i = 0; i < JOBS_MAX; i++)
		ck_assert(job_queue_take(queue, &job) && job.pid == i);
	ck_assert(!job_queue_take(queue, &job));
	free(queue);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
