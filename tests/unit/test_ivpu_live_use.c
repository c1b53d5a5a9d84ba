/* SPDX-License-Identifier: Apache-2.0 */
/* The use of the NPU in a live run: elapsed time of its phases, and the sums of its processes and contexts. */
#include <check.h>
#include <stdlib.h>
#include <iaprof/record.h>

#include "live_use.h"
#include "../run_suite.h"

static struct live_use live;

static void set_up(void)
{
	live = (struct live_use){ 0 };
}

static void tear_down(void)
{
	npu_use_free(&live.use);
}

static void add_job(uint32_t context, uint64_t submitted, uint64_t queued, uint64_t ended)
{
	const struct iaprof_record_job job = { .header = { .time = ended },
					       .submitted = submitted,
					       .queued = queued,
					       .pid = 12,
					       .context = context,
					       .state = IAPROF_JOB_DONE };
	live_use_add_job(&live, &job, ended > queued ? ended - queued : 0, "worker");
}

static void add_calls(const char *function, enum ivpu_phase phase, bool begins, uint64_t duration, uint64_t self)
{
	const struct calls calls = { .pid = 12, .count = 2, .duration = duration, .self_duration = self };
	const struct call_place place = { .place = { .phase = phase }, .begins_phase = begins };
	live_use_add(&live, ivpu_function_find(function), &calls, &place);
}

static uint64_t elapsed(enum ivpu_phase phase)
{
	return live.use.phases[phase].elapsed;
}

/* Overlapping jobs are one period on the NPU, even if some of them end in between. */
TEST(a_run_is_when_jobs_are_there)
{
	add_job(2, 8, 10, 20);
	add_job(2, 14, 15, 30);
	add_job(2, 40, 40, 50);
	add_job(3, 4, 5, 60);
	add_job(3, 70, 70, 80);
	add_job(3, 81, 81, 80);
	live_use_finish(&live, 100);
	ck_assert_uint_eq(elapsed(IVPU_PHASE_RUN), 55 + 10);
	ck_assert_uint_eq(elapsed(IVPU_PHASE_IDLE), 35);
}

TEST(the_oldest_times_are_only_summed)
{
	struct busy_times times = { 0 };

	for (uint64_t i = 1; i <= 3 * BUSY_INTERVALS; i++)
		ck_assert_uint_eq(busy_times_add(&times, 10 * i, 10 * i + 4), 4);
	ck_assert_uint_eq(times.count, BUSY_INTERVALS);
	ck_assert_uint_eq(busy_times_total(&times), 3 * BUSY_INTERVALS * 4);
	/* What was only summed is not counted twice: of this job, what follows it is known. */
	ck_assert_uint_eq(busy_times_add(&times, 10, 20 * BUSY_INTERVALS + 10), 6);
	ck_assert_uint_eq(busy_times_add(&times, 10, 20), 0);
}

/* The time of the engine is divided: jobs have what those that ended before them do not have. */
TEST(jobs_share_the_time_of_an_engine)
{
	static const struct {
		uint64_t begin, end, part, total;
	} jobs[] = {
		{ 10, 20, 10, 10 },                                        /* alone */
		{ 12, 30, 10, 20 },                                        /* waits for it */
		{ 30, 40, 10, 30 },                                        /* is queued when the other one ends */
		{ 60, 70, 10, 40 }, { 64, 70, 0, 40 }, { 50, 90, 30, 70 }, /* is interrupted by both */
		{ 5, 100, 25, 95 }, { 7, 7, 0, 95 },   { 9, 8, 0, 95 },
		{ 1, 3, 2, 97 }, /* ends earlier than those before it in the list */
	};
	struct busy_times times = { 0 };

	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		ck_assert_uint_eq(busy_times_add(&times, jobs[i].begin, jobs[i].end), jobs[i].part);
		ck_assert_uint_eq(busy_times_total(&times), jobs[i].total);
	}
}

static struct command_queues queues;

static uint64_t end_job(uint32_t owner, uint32_t queue, uint64_t queued, uint64_t ended)
{
	return command_queues_end(&queues, &(struct command_queue_key){ owner, 0, queue }, queued, ended);
}

static void queue_job(uint32_t owner, uint32_t queue, uint64_t queued)
{
	command_queues_submit(&queues, &(struct command_queue_key){ owner, 0, queue }, queued);
}

/* Jobs of a queue run one after the other. */
TEST(a_job_starts_when_it_is_first_in_its_queue)
{
	queues = (struct command_queues){ 0 };
	for (uint64_t queued = 10; queued <= 12; queued++)
		queue_job(2, 1, queued);
	ck_assert_uint_eq(end_job(2, 1, 10, 20), 10);
	ck_assert_uint_eq(end_job(2, 1, 11, 30), 20); /* of a burst */
	ck_assert_uint_eq(end_job(2, 1, 12, 40), 30);
	ck_assert_uint_eq(end_job(2, 1, 50, 60), 50); /* after a pause */
	ck_assert_uint_eq(end_job(3, 1, 60, 70), 60); /* the same number in another context: another queue */
	ck_assert_uint_eq(end_job(2, 1, 75, 74), 74); /* ended before it was traced as queued */
	ck_assert_uint_eq(end_job(2, 1, 80, 90), 80);
	ck_assert_uint_eq(end_job(2, 1, 0, 95), 0);
	ck_assert_uint_eq(queues.jobs, 7);
	ck_assert_uint_eq(queues.unknown, 0);
}

/* Which of several queues the device works on is not known, neither of the job that ends first nor of the others. */
TEST(a_job_beside_another_queue_has_no_known_start)
{
	queues = (struct command_queues){ 0 };
	queue_job(2, 1, 10);
	queue_job(2, 2, 12);
	queue_job(2, 2, 13);
	ck_assert_uint_eq(end_job(2, 2, 12, 20), 0); /* the first queue has a job in flight */
	ck_assert_uint_eq(end_job(2, 2, 13, 30), 0);
	ck_assert_uint_eq(end_job(2, 1, 10, 40), 0); /* the second one has none any more, but had */
	ck_assert_uint_eq(end_job(2, 2, 45, 50), 45);
	/* Another engine does not matter. */
	command_queues_submit(&queues, &(struct command_queue_key){ 2, 1, 3 }, 55);
	ck_assert_uint_eq(end_job(2, 2, 56, 60), 56);
	/* A job that another one with the same key overtook: the driver has more queues than are known. */
	queue_job(4, 0, 70);
	ck_assert_uint_eq(end_job(4, 0, 71, 80), 71);
	ck_assert_uint_eq(end_job(4, 0, 70, 90), 0);
	ck_assert_uint_eq(end_job(4, 0, 95, 99), 95);
	ck_assert_uint_eq(queues.jobs, 8);
	ck_assert_uint_eq(queues.unknown, 4);
}

TEST(the_queue_that_was_unused_longest_gives_way)
{
	queues = (struct command_queues){ 0 };
	for (uint32_t i = 1; i <= COMMAND_QUEUES_MAX + 1; i++)
		end_job(2, i, 10 * i, 10 * i + 5);
	ck_assert_uint_eq(queues.count, COMMAND_QUEUES_MAX);
	/* The second queue is kept, and knows its last job; the first one is not. */
	uint64_t end = 10 * (COMMAND_QUEUES_MAX + 1) + 5;
	ck_assert_uint_eq(queues.queues[0].key.id, COMMAND_QUEUES_MAX + 1);
	ck_assert_uint_eq(queues.queues[1].ended, 25);
	ck_assert_uint_eq(end_job(2, 2, end + 1, end + 2), end + 1);
	ck_assert_uint_eq(queues.count, COMMAND_QUEUES_MAX);
}

/* A boot has the time of its outermost call; what is called in it adds nothing. */
TEST(phases_have_their_time)
{
	add_calls("ivpu_pm_runtime_resume_cb", IVPU_PHASE_BOOT, true, 1000, 10);
	add_calls("ivpu_resume", IVPU_PHASE_BOOT, false, 990, 90);
	add_calls("ivpu_bo_create_ioctl", IVPU_PHASE_ALLOCATE, true, 500, 60);
	add_calls("ivpu_gem_create_object", IVPU_PHASE_ALLOCATE, false, 440, 440);
	add_calls("ivpu_submit_ioctl", IVPU_PHASE_RUN, true, 300, 300);
	/* There is no such process any more: its job has a name. */
	live.use.processes.items[0].comm[0] = '\0';
	add_job(2, 0, 0, 0);
	ck_assert_str_eq(live.use.processes.items[0].comm, "worker");
	live_use_finish(&live, 10000);
	ck_assert_uint_eq(elapsed(IVPU_PHASE_BOOT), 1000);
	ck_assert_uint_eq(elapsed(IVPU_PHASE_ALLOCATE), 500);
	ck_assert_uint_eq(elapsed(IVPU_PHASE_RUN), 0);
	ck_assert_uint_eq(elapsed(IVPU_PHASE_IDLE), 8500);
	ck_assert_uint_eq(live.use.phases[IVPU_PHASE_BOOT].driver_time, 100);
	ck_assert_uint_eq(live.use.processes.count, 1);
	const struct npu_process *process = &live.use.processes.items[0];
	ck_assert(process->is_user);
	ck_assert_uint_eq(process->calls, 10);
	ck_assert_uint_eq(process->jobs, 2);
	ck_assert_uint_eq(process->buffers, 2);
	ck_assert_uint_eq(process->phases[IVPU_PHASE_RUN].driver_time, 300);
}

/* A thread of the Linux kernel serves others. */
TEST(who_makes_no_request_is_no_user)
{
	add_calls("ivpu_pm_runtime_suspend_cb", IVPU_PHASE_IDLE, true, 10, 10);
	add_calls("ivpu_irq_thread_handler", IVPU_PHASE_RUN, true, 10, 10);
	ck_assert_uint_eq(live.use.processes.count, 1);
	ck_assert(!live.use.processes.items[0].is_user);
}

TEST(contexts_have_their_jobs)
{
	add_job(2, 10, 15, 35);
	add_job(3, 20, 40, 100);
	add_job(2, 30, 101, 121);
	ck_assert_uint_eq(live.use.contexts.count, 2);
	const struct npu_context *first = &live.use.contexts.items[0], *second = &live.use.contexts.items[1];
	ck_assert_uint_eq(first->key.context, 2);
	ck_assert_uint_eq(first->jobs, 2);
	ck_assert_uint_eq(first->run_time, 40);
	ck_assert_uint_eq(first->queue_time, 5 + 71);
	ck_assert_uint_eq(second->run_time, 60);
	ck_assert_uint_eq(second->queue_time, 20);
	ck_assert_uint_eq(live.use.run_time, 100);
}

/* Calls of a context are also those of its process, which has others. */
TEST(contexts_have_their_calls)
{
	static const struct call_place boot = { .place = { .phase = IVPU_PHASE_BOOT }, .begins_phase = true };
	static const struct call_place map = { .place = { .phase = IVPU_PHASE_MAP, .in_submit = true } };
	const struct calls calls[] = { { .pid = 12, .context = 2, .count = 3, .duration = 70, .self_duration = 50 },
				       { .pid = 12, .context = 3, .count = 5, .duration = 90, .self_duration = 80 } };

	live_use_add(&live, ivpu_function_find("ivpu_pm_runtime_resume_cb"), &calls[0], &boot);
	live_use_add(&live, ivpu_function_find("ivpu_mmu_context_map_page"), &calls[1], &map);
	add_calls("ivpu_open", IVPU_PHASE_OPEN, true, 1, 1);
	npu_use_add_allocated(&live.use, 12, 0, 100);
	npu_use_add_allocated(&live.use, 12, 3, 4096);
	ck_assert_uint_eq(live.use.contexts.count, 2);
	const struct npu_context *first = &live.use.contexts.items[0], *second = &live.use.contexts.items[1];
	ck_assert_uint_eq(first->calls, 3);
	ck_assert_uint_eq(first->boot_time, 70);
	ck_assert_uint_eq(first->phases[IVPU_PHASE_BOOT].driver_time, 50);
	ck_assert_uint_eq(first->pages, 0);
	ck_assert_uint_eq(second->calls, 5);
	ck_assert_uint_eq(second->boot_time, 0);
	ck_assert_uint_eq(second->pages, 5);
	ck_assert_uint_eq(second->allocated, 4096);
	ck_assert_uint_eq(second->phases[IVPU_PHASE_MAP].calls, 5);
	ck_assert_uint_eq(live.use.processes.items[0].calls, 3 + 5 + 2);
	ck_assert_uint_eq(live.use.processes.items[0].boot_time, 70);
	ck_assert_uint_eq(live.use.processes.items[0].allocated, 4196);
}

/* What does not fit is counted, and what is known still grows. */
TEST(tables_are_bounded)
{
	for (uint32_t i = 0; i < NPU_USE_PROCESSES_MAX + 7; i++)
		add_job(i, 1, 1, 2);
	ck_assert_uint_eq(live.use.contexts.count, NPU_USE_PROCESSES_MAX);
	ck_assert_uint_eq(live.use.dropped, 7);
	add_job(5, 10, 10, 20);
	ck_assert_uint_eq(live.use.dropped, 7);
	ck_assert_uint_eq(live.use.contexts.items[5].jobs, 2);
	npu_use_set_memory(&live.use, 4711, 1);
	add_calls("ivpu_open", IVPU_PHASE_OPEN, true, 1, 1);
	npu_use_set_memory(&live.use, 12, 4096);
	npu_use_set_memory(&live.use, 12, 1024);
	ck_assert_uint_eq(live.use.processes.items[0].memory, 4096);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
