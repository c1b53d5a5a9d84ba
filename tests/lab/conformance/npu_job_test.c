// SPDX-License-Identifier: Apache-2.0
/* Submission and waiting: errors, timeouts, order, aborts, closing with jobs in flight, many threads at once. */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "npu_tests.h"

#define THREADS 8
#define JOBS_A_THREAD 20

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void submissions_are_checked(void)
{
	int file = npu_open();
	uint32_t handles[] = { npu_buffer(file, 4096), 999 };
	struct npu_submit good = { .buffers_ptr = (uintptr_t)handles, .buffer_count = 1 }, bad;

	CHECK(npu_scenario("# nothing\n") == EBUSY);
	bad = good, bad.buffer_count = 0;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EINVAL);
	bad = good, bad.buffer_count = 65536;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EINVAL);
	bad = good, bad.engine = 2;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EINVAL);
	bad = good, bad.priority = 5;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EINVAL);
	bad = good, bad.commands_offset = 4;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EINVAL);
	bad = good, bad.commands_offset = 4096;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EINVAL);
	bad = good, bad.buffer_count = 2;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), ENOENT);
	bad = good, bad.buffers_ptr = 8;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SUBMIT, &bad), EFAULT);
	CHECK_EQUAL(npu_truth("jobs_submitted"), 0);
	CHECK(npu_submit(file, handles[0], 0) == 0);
	CHECK_FAILS(npu_submit(file, handles[0], 0), EBUSY);
	CHECK(npu_wait(file, handles[0], 5000, NULL) == 0);
	CHECK(npu_submit(file, handles[0], 0) == 0);
	CHECK(npu_wait(file, handles[0], 5000, NULL) == 0);
	CHECK_EQUAL(npu_truth("jobs_done"), 2);
	close(file);
}

static void waits_time_out_and_end(void)
{
	int file = npu_open();
	uint32_t command = npu_buffer(file, 4096);
	int64_t begin;

	CHECK_FAILS(npu_wait(file, 999, 10, NULL), EINVAL);
	CHECK(npu_wait(file, command, 0, NULL) == 0); /* nothing to wait for */
	CHECK(npu_submit(file, command, 0) == 0);
	begin = now_ms();
	CHECK_FAILS(npu_wait(file, command, 300, NULL), ETIMEDOUT);
	CHECK(now_ms() - begin >= 300);
	CHECK_FAILS(npu_wait(file, command, -1000, NULL), ETIMEDOUT);
	CHECK_EQUAL(npu_truth("jobs_done"), 0);
	close(file);
	CHECK_EQUAL(npu_truth("buffers"), 1); /* the job has it */
	file = npu_open();
	CHECK_EQUAL(npu_param(file, 7, 0), 3); /* and its context, too */
	close(file);
	CHECK(npu_abort_jobs() == 0);
	CHECK_EQUAL(npu_truth("buffers"), 0);
	CHECK_EQUAL(npu_truth("jobs_aborted"), 1);
}

static void on_signal(int number)
{
	(void)number;
}

static void a_signal_ends_a_wait(void)
{
	int file = npu_open();
	uint32_t command = npu_buffer(file, 4096);
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGALRM, &action, NULL);
	CHECK(npu_submit(file, command, 0) == 0);
	alarm(1);
	CHECK_FAILS(npu_wait(file, command, 20000, NULL), EINTR);
	close(file);
	CHECK(npu_abort_jobs() == 0);
}

static void *submit_and_wait(void *argument)
{
	intptr_t bad = 0;
	int file = npu_open();

	(void)argument;
	for (int i = 0; i < JOBS_A_THREAD; i++) {
		uint32_t command = npu_buffer(file, 4096), status = 99;

		bad += npu_submit(file, command, npu_buffer(file, 8192)) != 0;
		bad += npu_wait(file, command, 60000, &status) != 0 || status != 0;
	}
	close(file);
	return (void *)bad;
}

static void many_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, submit_and_wait, NULL);
	for (int i = 0; i < THREADS; i++) {
		void *bad;

		pthread_join(threads[i], &bad);
		CHECK(bad == NULL);
	}
	CHECK_EQUAL(npu_truth("jobs_submitted"), THREADS * JOBS_A_THREAD);
	CHECK_EQUAL(npu_truth("jobs_done"), THREADS * JOBS_A_THREAD);
	CHECK_EQUAL(npu_truth("interrupts"), THREADS * JOBS_A_THREAD);
	for (int i = 0; i < 100 && npu_truth("buffers"); i++)
		usleep(20000);
	CHECK_EQUAL(npu_truth("buffers"), 0);
	CHECK_EQUAL(npu_truth("events_lost"), 0);
}

static void aborted_jobs_say_so(void)
{
	int file;
	uint32_t commands[3], status;

	REQUIRE(npu_scenario_when_idle(
			"ioctl SUBMIT times 2\n ivpu_submit_ioctl\n"
			"ioctl SUBMIT\n ivpu_submit_ioctl\n  job submit\n  start recovery after 50ms\n"
			"work recovery\n ivpu_pm_recovery_work\n  ivpu_jobs_abort_all\n   job abort\n") == 0);
	file = npu_open();
	for (int i = 0; i < 3; i++) {
		commands[i] = npu_buffer(file, 4096);
		CHECK(npu_submit(file, commands[i], 0) == 0);
	}
	for (int i = 0; i < 3; i++) {
		CHECK(npu_wait(file, commands[i], 10000, &status) == 0);
		CHECK_EQUAL(status, 256);
	}
	close(file);
	CHECK_EQUAL(npu_truth("jobs_aborted"), 3);
}

static void a_closed_file_leaves_its_jobs(void)
{
	int file;

	REQUIRE(npu_scenario_when_idle(npu_jobs_of_20_ms) == 0);
	file = npu_open();
	for (int i = 0; i < 5; i++)
		CHECK(npu_submit(file, npu_buffer(file, 4096), 0) == 0);
	close(file);
	for (int i = 0; i < 200 && npu_truth("buffers"); i++)
		usleep(20000);
	CHECK_EQUAL(npu_truth("jobs_done"), 5);
	CHECK_EQUAL(npu_truth("buffers"), 0);
}

void npu_job_tests(void)
{
	npu_scenario_when_idle(npu_jobs_of_20_ms);
	TAP_RUN(submissions_are_checked);
	npu_scenario_when_idle(npu_jobs_that_hang);
	TAP_RUN(waits_time_out_and_end);
	TAP_RUN(a_signal_ends_a_wait);
	npu_scenario_when_idle(npu_jobs_of_20_ms);
	TAP_RUN(many_threads);
	TAP_RUN(aborted_jobs_say_so);
	TAP_RUN(a_closed_file_leaves_its_jobs);
}
