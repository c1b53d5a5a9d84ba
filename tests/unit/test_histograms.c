/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms and jobs: sums of several records, quantiles against values that are known, and bounds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/histograms.h"
#include "../run_suite.h"

static struct intern *intern;
static struct histograms histograms;

static void set_up(void)
{
	intern = intern_new(NULL);
	histograms = (struct histograms){ .intern = intern };
}

static void tear_down(void)
{
	histograms_free(&histograms);
	intern_free(intern);
}

static uint32_t id_of(const char *string)
{
	return intern_string(intern, string, strlen(string));
}

/* One record with a value in each of some buckets. */
static void take(const char *name, unsigned first_bucket, unsigned bucket_count, uint64_t each, uint64_t maximum)
{
	struct {
		struct iaprof_record_histogram histogram;
		uint64_t buckets[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX];
	} record = { .histogram = { .name = id_of(name),
				    .unit = id_of("nanoseconds"),
				    .sum = maximum,
				    .maximum = maximum,
				    .bucket_count = first_bucket + bucket_count } };
	for (unsigned i = first_bucket; i < first_bucket + bucket_count; i++)
		record.histogram.count += record.buckets[i] = each;
	histograms_take(&histograms, &record.histogram);
}

TEST(records_of_a_name_add_up)
{
	take("submit", 3, 2, 10, 20);
	take("pin", 0, 1, 1, 0);
	take("submit", 4, 1, 5, 31);
	ck_assert_uint_eq(histograms.items.count, 2);
	const struct histogram *submit = &histograms.items.items[0];
	ck_assert_str_eq(submit->name, "submit");
	ck_assert_uint_eq(submit->count, 25);
	ck_assert_uint_eq(submit->buckets[3], 10);
	ck_assert_uint_eq(submit->buckets[4], 15);
	ck_assert_uint_eq(submit->maximum, 31);
}

static uint64_t quantile(const struct histogram *histogram, double part)
{
	return iaprof_histogram_quantile(histogram->buckets, histogram->count, histogram->maximum, part);
}

/* Of 0 to 9,999, each once: a quantile is right to a factor of two, and better as the values are spread evenly. */
TEST(quantiles_are_within_their_bucket)
{
	for (uint64_t i = 0; i < 10000; i++) {
		struct iaprof_record_job job = {
			.header.time = 1 + i, .queued = 1, .started = 1, .state = IAPROF_JOB_DONE, .submitted = 1
		};
		histograms_take_job(&histograms, &job);
	}
	const struct histogram *queue = &histograms.items.items[0], *run = &histograms.items.items[1];
	ck_assert_str_eq(queue->name, HISTOGRAM_JOB_QUEUE_TIME);
	ck_assert_uint_eq(queue->buckets[0], 10000);
	ck_assert_str_eq(run->name, HISTOGRAM_JOB_RUN_TIME);
	ck_assert_uint_eq(run->count, 10000);
	ck_assert_uint_eq(run->sum, 9999 * 10000 / 2);
	ck_assert_uint_eq(run->maximum, 9999);
	ck_assert_double_eq_tol((double)quantile(run, 0.5), 5000, 100);
	ck_assert_double_eq_tol((double)quantile(run, 0.25), 2500, 50);
	ck_assert_uint_ge(quantile(run, 0.9), 8192);
	ck_assert_uint_le(quantile(run, 1), 9999);
	ck_assert_uint_eq(quantile(&(struct histogram){ 0 }, 0.5), 0);
}

TEST(jobs_are_counted_by_their_end)
{
	struct iaprof_record_job job = { .header.time = 900, .submitted = 100, .queued = 200, .started = 500 };
	for (uint32_t state = IAPROF_JOB_DONE; state <= IAPROF_JOB_IN_FLIGHT; state++) {
		job.state = state;
		histograms_take_job(&histograms, &job);
	}
	/* Times that are not known, or go back, are no values. */
	job = (struct iaprof_record_job){ .header.time = 5, .state = IAPROF_JOB_DONE };
	histograms_take_job(&histograms, &job);
	job.started = job.submitted = 10;
	job.submitted = 11;
	histograms_take_job(&histograms, &job);
	/* A copy is no job of a device. */
	histograms_take_job(&histograms, &(struct iaprof_record_job){ .header = { .size = sizeof job, .time = 5 },
								      .started = 4,
								      .state = IAPROF_JOB_DONE,
								      .kernel = 1,
								      .time_type = 1,
								      .copy = IAPROF_COPY_SET });
	ck_assert_uint_eq(histograms.jobs_done, 3);
	ck_assert_uint_eq(histograms.jobs_aborted, 1);
	ck_assert_uint_eq(histograms.jobs_in_flight, 1);
	ck_assert_uint_eq(histograms.items.items[0].count, 2);
	ck_assert_uint_eq(histograms.items.items[0].maximum, 400);
	ck_assert_uint_eq(histograms.items.items[1].count, 1);
	ck_assert_uint_eq(histograms.items.items[1].maximum, 400);
	ck_assert_uint_eq(histograms.items.count, 2);
}

/* How long a job waited and ran is not known, but how long both took together. */
TEST(jobs_of_unknown_start_have_a_latency)
{
	const struct iaprof_record_job job = {
		.header.time = 900, .submitted = 100, .queued = 200, .state = IAPROF_JOB_DONE
	};

	histograms_take_job(&histograms, &job);
	ck_assert_uint_eq(histograms.items.count, 1);
	ck_assert_str_eq(histograms.items.items[0].name, "jobs: submission to completion");
	ck_assert_uint_eq(histograms.items.items[0].maximum, 800);
}

TEST(names_are_bounded)
{
	char name[32];
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "name %u", i);
		take(name, 1, 1, 3, 3);
	}
	ck_assert_uint_eq(histograms.items.count, 1024);
	ck_assert_uint_eq(histograms.dropped, 3 * (2000 - 1024));
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
