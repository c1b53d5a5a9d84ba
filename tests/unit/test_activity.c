/* SPDX-License-Identifier: Apache-2.0 */
/* The activity of a profile: which process, device and track jobs, calls and counters belong to, and its bounds. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "profile/record_order.h"
#include "profile/run_activity.h"
#include "../run_suite.h"

static struct intern *intern;
static struct process_table *processes;
static struct call_tree calls;
static struct histograms histograms;
static struct findings findings;
static struct run_metadata metadata;
static struct sampled_devices devices;
static struct run_activity activity;
static struct record_order order;
static struct snapshot_memory memory;
static struct iaprof_activity copied;

static void place_record(void *context, enum record_wait wait, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_JOB)
		run_activity_place_job(&activity, (const void *)record);
	else
		run_activity_place_call(&activity, (const void *)record);
}

/* Places the jobs and calls up to a time. */
static void place(uint64_t time)
{
	record_order_release(&order, WAIT_PROCESSES, time);
	run_activity_update_names(&activity);
}

static void setup(void)
{
	order = (struct record_order){ .pass = place_record };
	intern = intern_new(NULL);
	processes = process_table_new();
	ck_assert(intern && processes);
	calls = (struct call_tree){ .intern = intern };
	histograms = (struct histograms){ .intern = intern };
	findings = (struct findings){ .intern = intern };
	metadata = (struct run_metadata){ .intern = intern };
	activity = (struct run_activity){ .intern = intern,
					  .processes = processes,
					  .devices = &devices,
					  .calls = &calls,
					  .histograms = &histograms,
					  .findings = &findings,
					  .metadata = &metadata };
	memory = (struct snapshot_memory){ 0 };
	devices = (struct sampled_devices){ .intern = intern };
}

static void teardown(void)
{
	snapshot_memory_free(&memory);
	record_order_free(&order);
	run_activity_free(&activity);
	activity = (struct run_activity){ 0 }; /* so that LeakSanitizer finds what is left */
	sampled_devices_free(&devices);
	call_tree_free(&calls);
	histograms_free(&histograms);
	findings_free(&findings);
	run_metadata_free(&metadata);
	process_table_free(processes);
	intern_free(intern);
}

static struct iaprof_record header(uint16_t type, size_t size, uint64_t time)
{
	return (struct iaprof_record){ .type = type, .size = (uint32_t)size, .time = time, .source = 1 };
}

static void process_event(uint32_t pid, uint32_t event, const char *name, uint64_t time)
{
	struct iaprof_record_process record = { .header = header(IAPROF_RECORD_PROCESS, sizeof record, time),
						.pid = pid,
						.event = event };
	ck_assert_int_eq(process_table_event(processes, &record, name, false), 0);
}

static void job(uint32_t pid, uint64_t submitted, uint64_t started, uint64_t end, uint32_t state)
{
	struct iaprof_record_job record = { .header = header(IAPROF_RECORD_JOB, sizeof record, end),
					    .submitted = submitted,
					    .started = started,
					    .pid = pid,
					    .device = 3,
					    .engine = intern_text_id(intern, "compute"),
					    .state = state };
	record_order_add(&order, WAIT_PROCESSES, &record.header);
}

static uint32_t function_id;

static void function_add(const char *name, const char *family, uint32_t kind)
{
	struct iaprof_record_call_function function = { .header =
								header(IAPROF_RECORD_CALL_FUNCTION, sizeof function, 0),
							.id = ++function_id,
							.name = intern_text_id(intern, name),
							.family = intern_text_id(intern, family),
							.kind = kind };
	ck_assert_int_eq(call_tree_take_function(&calls, &function), 0);
}

/* A node of its own for the newest function. */
static void node_add(uint32_t id, uint32_t parent)
{
	struct iaprof_record_call_node node = { .header = header(IAPROF_RECORD_CALL_NODE, sizeof node, 0),
						.id = id,
						.parent = parent,
						.function = function_id };
	ck_assert_int_eq(call_tree_take_node(&calls, &node), 0);
}

static void call(uint32_t node, uint32_t pid, uint64_t time, uint64_t count, uint64_t duration, uint64_t self)
{
	struct iaprof_record_call record = { .header = header(IAPROF_RECORD_CALL, sizeof record, time),
					     .pid = pid,
					     .first_time = time,
					     .count = count,
					     .duration = duration,
					     .self_duration = self,
					     .node = node };
	record_order_add(&order, WAIT_PROCESSES, &record.header);
}

static const struct iaprof_activity *content(void)
{
	snapshot_memory_free(&memory);
	run_activity_copy(&activity, true, &memory, &copied);
	ck_assert(!memory.failed);
	return &copied;
}

static const struct iaprof_track *track_named(const char *name, uint32_t kind)
{
	const struct iaprof_activity *now = content();
	for (size_t i = 0; i < now->track_count; i++)
		if (!strcmp(iaprof_activity_track(now, i)->name, name) && iaprof_activity_track(now, i)->kind == kind)
			return iaprof_activity_track(now, i);
	return NULL;
}

/* A pid that is used again is another process, and a job is its whose pid it was when the job ended. */
TEST(jobs_belong_to_the_process_of_their_time)
{
	job(5, 100, 0, 150, IAPROF_JOB_DONE); /* before anything is known of its process */
	process_event(5, IAPROF_PROCESS_FORK, "first", 50);
	place(200);
	process_event(5, IAPROF_PROCESS_EXIT, "", 300);
	process_event(5, IAPROF_PROCESS_FORK, "second", 400);
	job(5, 410, 420, 450, IAPROF_JOB_DONE);
	job(5, 250, 260, 290, IAPROF_JOB_DONE); /* reported late */
	process_event(5, IAPROF_PROCESS_NAME, "renamed", 460);
	place(500);
	const struct iaprof_activity *now = content();
	ck_assert_uint_eq(now->process_count, 2);
	ck_assert_str_eq(iaprof_activity_process(now, 0)->name, "first");
	ck_assert_str_eq(iaprof_activity_process(now, 1)->name, "renamed");
	ck_assert_uint_eq(now->track_count, 2);
	ck_assert_uint_eq(iaprof_activity_track(now, 0)->count, 2);
	ck_assert_uint_eq(iaprof_activity_track(now, 1)->count, 1);
	ck_assert_uint_eq(iaprof_activity_track(now, 1)->process, 1);
}

/* Names come with the events, where the source knows them; a record of an earlier version has none. */
TEST(events_have_the_names_of_their_threads)
{
	uint32_t worker = intern_text_id(intern, "worker");
	struct iaprof_record_job job = { .header = header(IAPROF_RECORD_JOB, sizeof job, 200),
					 .submitted = 100,
					 .pid = 5,
					 .state = IAPROF_JOB_DONE,
					 .thread_name = worker };
	record_order_add(&order, WAIT_PROCESSES, &job.header);
	job.header.size = offsetof(struct iaprof_record_job, thread_name);
	record_order_add(&order, WAIT_PROCESSES, &job.header);
	function_add("zeInit", "", IAPROF_CALL_API);
	node_add(1, 0);
	struct iaprof_record_call call = { .header = header(IAPROF_RECORD_CALL, sizeof call, 300),
					   .pid = 5,
					   .count = 1,
					   .node = 1,
					   .thread_name = worker };
	record_order_add(&order, WAIT_PROCESSES, &call.header);
	place(UINT64_MAX);
	const struct iaprof_track *jobs = iaprof_activity_track(content(), 0);
	ck_assert_str_eq(jobs->threads[0], "worker");
	ck_assert_ptr_null(jobs->threads[1]);
	ck_assert_str_eq(track_named("zeInit", IAPROF_TRACK_API)->threads[0], "worker");
}

/* So that what keeps a device busy is known, and copies beside it are drawn. */
TEST(copies_have_tracks_of_their_own)
{
	job(1, 100, 130, 200, IAPROF_JOB_DONE);
	struct iaprof_record_job copy = { .header = header(IAPROF_RECORD_JOB, sizeof copy, 180),
					  .started = 150,
					  .pid = 1,
					  .device = 3,
					  .engine = intern_text_id(intern, "copy"),
					  .state = IAPROF_JOB_DONE,
					  .kernel = 1,
					  .time_type = 1,
					  .copy = IAPROF_COPY_HOST_TO_DEVICE };
	record_order_add(&order, WAIT_PROCESSES, &copy.header);
	place(UINT64_MAX);
	ck_assert_uint_eq(track_named("compute", IAPROF_TRACK_JOBS)->busy, 70);
	const struct iaprof_track *copies = track_named("copy", IAPROF_TRACK_COPIES);
	ck_assert_uint_eq(copies->events[0].busy, 30);
	ck_assert_int_eq(iaprof_track_has_jobs(copies), 1);
}

TEST(jobs_wait_and_run)
{
	job(1, 100, 130, 200, IAPROF_JOB_DONE);
	job(1, 300, 0, 400, IAPROF_JOB_IN_FLIGHT); /* nobody knows whether it ran */
	job(1, 900, 0, 500, IAPROF_JOB_ABORTED);   /* ends before it was submitted: damaged */
	place(UINT64_MAX);
	const struct iaprof_track *track = iaprof_activity_track(content(), 0);
	ck_assert_uint_eq(track->event_count, 3);
	ck_assert_uint_eq(track->events[0].waiting, 30);
	ck_assert_uint_eq(track->events[0].busy, 70);
	ck_assert_uint_eq(track->events[1].waiting, 100);
	ck_assert_uint_eq(track->events[1].busy, 0);
	ck_assert_uint_eq(track->events[2].begin, 500);
	ck_assert_uint_eq(track->events[2].end, 500);
	ck_assert_uint_eq(track->waiting, 130);
	ck_assert_uint_eq(track->aborted, 1);
	ck_assert_uint_eq(track->in_flight, 1);
	ck_assert_uint_eq(track->device, IAPROF_ACTIVITY_NONE); /* it was not announced */
	ck_assert_uint_eq(content()->begin, 100);
	ck_assert_uint_eq(content()->end, 500);
}

TEST(calls_have_a_track_by_what_they_are)
{
	function_id = 0;
	function_add("zeInit", "api", IAPROF_CALL_API);
	node_add(1, 0);
	function_add("SUBMIT", "requests", IAPROF_CALL_IOCTL);
	node_add(2, 1);
	function_add("vpu_job_submit", "jobs", IAPROF_CALL_FUNCTION);
	node_add(3, 2);
	function_add("vpu_pm_resume", "power", IAPROF_CALL_FUNCTION);
	node_add(4, 3);
	function_add("[interrupt]", "", IAPROF_CALL_CONTEXT);
	node_add(5, 0);
	function_add("vpu_irq", "interrupts", IAPROF_CALL_FUNCTION);
	node_add(6, 5);
	for (uint32_t node = 1; node <= 6; node++)
		if (node != 5)
			call(node, 7, 1000 * node, 2, 100, 60);
	call(99, 7, 5, 3, 10, 10); /* of no known node */
	place(UINT64_MAX);
	const struct iaprof_track *api = track_named("zeInit", IAPROF_TRACK_API);
	ck_assert_ptr_nonnull(api);
	ck_assert_uint_ne(api->process, IAPROF_ACTIVITY_NONE);
	ck_assert_uint_eq(api->busy, 100);
	ck_assert_uint_eq(api->events[0].end, 1000 + 50); /* the last of two began at the record's time */
	ck_assert_ptr_nonnull(track_named("SUBMIT", IAPROF_TRACK_IOCTL));
	const struct iaprof_track *family = track_named("jobs", IAPROF_TRACK_FAMILY);
	ck_assert_ptr_nonnull(family);
	ck_assert_uint_eq(family->process, IAPROF_ACTIVITY_NONE);
	ck_assert_uint_eq(family->busy, 60);
	ck_assert_ptr_nonnull(track_named("vpu_pm_resume", IAPROF_TRACK_POWER));
	ck_assert_ptr_nonnull(track_named("[interrupt]", IAPROF_TRACK_CONTEXT));
	ck_assert_uint_eq(content()->track_count, 5);
	ck_assert_uint_eq(content()->calls_dropped, 3);
	ck_assert_uint_eq(content()->node_count, 6);
	ck_assert_uint_eq(iaprof_activity_node(content(), 5)->parent, 4);
}

static void counter_value(uint64_t time, double value)
{
	struct iaprof_record_counter_value record = {
		.header = header(IAPROF_RECORD_COUNTER_VALUE, sizeof record, time), .counter = 1, .value = value
	};
	ck_assert(counters_take_value(&activity.counters, &record));
}

TEST(counters_need_no_device_and_keep_every_value)
{
	enum { VALUES = 5 * COUNTER_POINTS_MAX + 3 };
	struct iaprof_record_counter counter = { .header = header(IAPROF_RECORD_COUNTER, sizeof counter, 0),
						 .id = 1,
						 .name = intern_text_id(intern, "queue depth"),
						 .unit = intern_text_id(intern, "requests"),
						 .kind = IAPROF_COUNTER_GAUGE };
	counter_value(1, 9); /* not declared yet */
	ck_assert(counters_take(&activity.counters, &counter));
	for (uint32_t i = 0; i < VALUES; i++)
		counter_value(1000 + i, i);
	ck_assert_uint_eq(content()->counter_count, 1);
	ck_assert_uint_eq(content()->counter_dropped, 1);
	const struct iaprof_counter *copy = iaprof_activity_counter(content(), 0);
	ck_assert_str_eq(copy->name, "queue depth");
	ck_assert_uint_eq(copy->device, IAPROF_ACTIVITY_NONE);
	ck_assert_uint_le(copy->point_count, COUNTER_POINTS_MAX);
	ck_assert_uint_eq(copy->values_per_point, 8);
	uint64_t count = 0;
	for (size_t i = 0; i < copy->point_count; i++) {
		const struct iaprof_counter_point *point = &copy->points[i];
		ck_assert_double_eq(point->minimum, (double)count);
		count += point->count;
		ck_assert_double_eq(point->maximum, (double)(count - 1));
		ck_assert_double_eq_tol(point->mean, (point->minimum + point->maximum) / 2, 1e-6);
	}
	ck_assert_uint_eq(count, VALUES);
	ck_assert_uint_eq(copy->points[0].begin, 1000);
	ck_assert_uint_eq(copy->points[copy->point_count - 1].end, 1000 + VALUES - 1);
	ck_assert_uint_eq(copy->count, VALUES);
	ck_assert_double_eq(copy->last, VALUES - 1);
}

TEST(profiles_of_intervals_have_no_timeline)
{
	struct iaprof_record_counter counter = { .header = header(IAPROF_RECORD_COUNTER, sizeof counter, 0), .id = 1 };
	ck_assert(counters_take(&activity.counters, &counter));
	counter_value(1000, 5);
	job(1, 100, 110, 120, IAPROF_JOB_DONE);
	place(UINT64_MAX);
	ck_assert_uint_eq(content()->track_count, 1);
	ck_assert_uint_eq(iaprof_activity_counter(content(), 0)->point_count, 1);
	snapshot_memory_free(&memory);
	run_activity_copy(&activity, false, &memory, &copied);
	ck_assert(!memory.failed);
	const struct iaprof_activity *brief = &copied;
	ck_assert_uint_eq(brief->track_count, 0);
	ck_assert_uint_eq(brief->counter_count, 1);
	ck_assert_uint_eq(iaprof_activity_counter(brief, 0)->point_count, 0);
	ck_assert_uint_eq(iaprof_activity_counter(brief, 0)->count, 1);
	ck_assert_double_eq(iaprof_activity_counter(brief, 0)->last, 5);
}

/* Processes that are renamed after their jobs have their last names, whichever they are. */
TEST(processes_have_their_last_names)
{
	for (uint32_t pid = 5; pid < 8; pid++) {
		process_event(pid, IAPROF_PROCESS_FORK, "first", 50);
		job(pid, 100, 0, 150, IAPROF_JOB_DONE);
	}
	job(99, 100, 0, 150, IAPROF_JOB_DONE); /* nobody heard of it */
	place(200);
	for (uint32_t pid = 6; pid < 8; pid++)
		process_event(pid, IAPROF_PROCESS_NAME, "second", 300);
	place(300);
	const struct iaprof_activity *now = content();
	ck_assert_uint_eq(now->process_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_str_eq(iaprof_activity_process(now, i)->name, i == 0 ? "first" : i < 3 ? "second" : "");
		ck_assert_uint_eq(iaprof_activity_process(now, i)->pid, i < 3 ? 5 + i : 99);
	}
}

/* What is known of a job's times, and what follows; 100 is when it was submitted, 200 its end. */
TEST(jobs_wait_until_they_are_known_to_run)
{
	static const struct {
		uint64_t submitted, queued, started;
		uint32_t state;
		uint64_t begin, waiting, busy;
	} cases[] = {
		{ 100, 120, 0, IAPROF_JOB_DONE, 100, 20, 80 },
		{ 100, 120, 150, IAPROF_JOB_DONE, 100, 50, 50 },
		{ 100, 0, 0, IAPROF_JOB_DONE, 100, 100, 0 },
		{ 0, 120, 0, IAPROF_JOB_DONE, 120, 0, 80 },
		{ 0, 120, 150, IAPROF_JOB_DONE, 150, 0, 50 },
		{ 0, 0, 0, IAPROF_JOB_DONE, 200, 0, 0 },
		{ 100, 120, 0, IAPROF_JOB_IN_FLIGHT, 100, 100, 0 },
		{ 100, 120, 150, IAPROF_JOB_IN_FLIGHT, 100, 50, 50 },
		{ 100, 120, 250, IAPROF_JOB_DONE, 100, 100, 0 },
		{ 100, 120, 50, IAPROF_JOB_DONE, 100, 0, 100 },
		{ 201, 210, 0, IAPROF_JOB_ABORTED, 200, 0, 0 },
		{ 200, 0, 200, IAPROF_JOB_ABORTED, 200, 0, 0 },
	};
	enum { COUNT = sizeof cases / sizeof *cases };
	for (size_t i = 0; i < COUNT; i++) {
		struct iaprof_record_job record = { .header = header(IAPROF_RECORD_JOB, sizeof record, 200),
						    .submitted = cases[i].submitted,
						    .queued = cases[i].queued,
						    .started = cases[i].started,
						    .id = 7,
						    .tid = 8,
						    .context = 9,
						    .status = 10,
						    .state = cases[i].state };
		record_order_add(&order, WAIT_PROCESSES, &record.header);
	}
	place(199);
	ck_assert_uint_eq(content()->track_count, 0);
	place(200);
	const struct iaprof_track *track = iaprof_activity_track(content(), 0);
	ck_assert_uint_eq(track->event_count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		const struct iaprof_event *event = &track->events[i];
		ck_assert_msg(event->begin == cases[i].begin && event->waiting == cases[i].waiting &&
				      event->busy == cases[i].busy,
			      "job %zu", i);
		ck_assert_uint_eq(event->end, 200);
		ck_assert_uint_eq(event->count, 1);
		ck_assert_uint_eq(event->queued, cases[i].queued);
		ck_assert_uint_eq(event->started, cases[i].started);
		ck_assert_uint_eq(event->state, cases[i].state);
		ck_assert(event->id == 7 && event->tid == 8 && event->context == 9 && event->status == 10);
		ck_assert_uint_eq(event->function, IAPROF_ACTIVITY_NONE);
	}
}

static void device(uint16_t source, uint32_t id, const char *name)
{
	struct iaprof_record_device record = { .header = header(IAPROF_RECORD_DEVICE, sizeof record, 0),
					       .id = id,
					       .name = intern_text_id(intern, name),
					       .address = intern_text_id(intern, "03:00.0") };
	record.header.source = source;
	sampled_devices_take(&devices, &record);
}

static void job_of(uint16_t source, uint32_t id, uint32_t pid, const char *engine, uint64_t time)
{
	struct iaprof_record_job record = { .header = header(IAPROF_RECORD_JOB, sizeof record, time),
					    .submitted = time,
					    .pid = pid,
					    .device = id,
					    .engine = intern_text_id(intern, engine) };
	record.header.source = source;
	record_order_add(&order, WAIT_PROCESSES, &record.header);
}

/* A device is its source's, and the first that was announced under its number. */
TEST(jobs_and_counters_are_of_their_device)
{
	device(1, 3, "NPU");
	device(1, 4, "other NPU");
	device(2, 3, "GPU");
	device(1, 3, "again");
	job_of(1, 3, 5, "a", 10);
	job_of(1, 4, 5, "b", 10);
	job_of(2, 3, 5, "c", 10);
	job_of(2, 4, 5, "d", 10);
	job_of(1, 0, 5, "e", 10);
	for (uint32_t id = 1; id <= 2; id++) {
		struct iaprof_record_counter counter = { .header = header(IAPROF_RECORD_COUNTER, sizeof counter, 0),
							 .id = id,
							 .name = intern_text_id(intern, "clock"),
							 .device = 2 + id,
							 .pid = id * 7,
							 .engine = intern_text_id(intern, "copy"),
							 .labels = intern_text_id(intern, "heap=2") };
		if (id == 2) /* a shorter record */
			counter.header.size = offsetof(struct iaprof_record_counter, pid);
		ck_assert(counters_take(&activity.counters, &counter));
		ck_assert(counters_take(&activity.counters, &counter));
	}
	place(UINT64_MAX);
	const struct iaprof_activity *now = content();
	ck_assert_uint_eq(now->device_count, 3);
	ck_assert_uint_eq(now->counter_count, 2);
	ck_assert_uint_eq(now->track_count, 5);
	static const char *const names[] = { "NPU", "other NPU", "GPU" };
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_str_eq(iaprof_activity_device(now, i)->name, names[i]);
		ck_assert_str_eq(iaprof_activity_device(now, i)->address, "03:00.0");
	}
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(iaprof_activity_track(now, i)->device, i < 3 ? i : IAPROF_ACTIVITY_NONE);
	for (uint32_t i = 0; i < 2; i++) {
		const struct iaprof_counter *counter = iaprof_activity_counter(now, i);
		ck_assert_uint_eq(counter->device, i);
		ck_assert_uint_eq(counter->pid, i ? 0 : 7);
		ck_assert_str_eq(counter->engine, i ? "" : "copy");
		ck_assert_str_eq(counter->labels, i ? "" : "heap=2");
	}
}

/* Devices, processes and counters have their limits. */
TEST(tables_are_bounded)
{
	for (uint32_t id = 1; id <= DEVICES_MAX + 1; id++)
		device(1, id, "NPU");
	for (uint32_t id = 1; id <= COUNTERS_MAX + 1; id++) {
		struct iaprof_record_counter counter = { .header = header(IAPROF_RECORD_COUNTER, sizeof counter, 0),
							 .id = id };
		struct iaprof_record_counter_value value = {
			.header = header(IAPROF_RECORD_COUNTER_VALUE, sizeof value, id), .counter = id, .value = id
		};
		ck_assert(counters_take(&activity.counters, &counter));
		ck_assert(counters_take_value(&activity.counters, &value));
	}
	for (uint32_t i = 1; i <= ACTIVITY_PROCESSES_MAX + 1; i++)
		job_of(1, DEVICES_MAX + i % 2, i, "compute", i);
	place(UINT64_MAX);
	const struct iaprof_activity *now = content();
	ck_assert_uint_eq(now->device_count, DEVICES_MAX);
	ck_assert_uint_eq(now->counter_count, COUNTERS_MAX);
	ck_assert_uint_eq(now->counter_dropped, 1);
	ck_assert_uint_eq(now->process_count, ACTIVITY_PROCESSES_MAX);
	ck_assert_uint_eq(iaprof_activity_process(now, 6)->pid, 7);
	ck_assert_uint_eq(iaprof_activity_track(now, 0)->device, IAPROF_ACTIVITY_NONE);
	ck_assert_uint_eq(iaprof_activity_track(now, 1)->device, DEVICES_MAX - 1);
	ck_assert_uint_eq(now->tracks_dropped,
			  ACTIVITY_PROCESSES_MAX + 1 - (TIMELINE_TRACKS_MAX - IAPROF_TRACK_COPIES));
}

/* Of a merged track the slots that have anything are copied. */
TEST(merged_tracks_have_their_used_slots)
{
	activity.timeline.events_max = 1;
	ck_assert_uint_gt(content()->begin, content()->end); /* no events */
	job(1, 5000, 7000, 8500, IAPROF_JOB_ABORTED);        /* waits in 5 and 6, runs in 7 and 8, counts in 8 */
	job(1, 10000, 10000, 10000, IAPROF_JOB_DONE);
	place(UINT64_MAX);
	const struct iaprof_activity *now = content();
	const struct iaprof_track *track = iaprof_activity_track(now, 0);
	static const struct iaprof_track_slot slots[] = { { .number = 5, .waiting = 1000 },
							  { .number = 6, .waiting = 1000 },
							  { .number = 7, .busy = 1000 },
							  { .number = 8, .busy = 500, .count = 1, .aborted = 1 },
							  { .number = 10, .count = 1 } };
	ck_assert_uint_eq(now->track_count, 1);
	ck_assert_uint_eq(track->event_count, 0);
	ck_assert_uint_eq(track->slot_count, 5);
	ck_assert_mem_eq(track->slots, slots, sizeof slots);
	ck_assert_uint_eq(now->slot_width, 1000);
	ck_assert_uint_eq(now->begin, 5000);
	ck_assert_uint_eq(now->end, 10000);
}

/* How much memory a snapshot takes is what its arrays are. */
TEST(a_snapshot_knows_its_size)
{
	content();
	size_t empty = memory.size;
	device(1, 3, "NPU");
	job(1, 100, 130, 200, IAPROF_JOB_DONE);
	job(1, 100, 130, 200, IAPROF_JOB_DONE);
	function_id = 0;
	function_add("zeInit", "api", IAPROF_CALL_API);
	node_add(1, 0);
	struct iaprof_record_counter counter = { .header = header(IAPROF_RECORD_COUNTER, sizeof counter, 0), .id = 1 };
	ck_assert(counters_take(&activity.counters, &counter));
	counter_value(1, 9);
	counter_value(2, 9);
	struct iaprof_record_finding finding = { .header = header(IAPROF_RECORD_FINDING, sizeof finding, 0), .pid = 1 };
	findings_take(&findings, &finding);
	struct iaprof_record_job done = { .header = header(IAPROF_RECORD_JOB, sizeof done, 200), .submitted = 100 };
	done.started = 150;
	histograms_take_job(&histograms, &done);
	place(UINT64_MAX);
	const struct iaprof_activity *now = content();
	size_t full = memory.size;
	ck_assert_uint_eq(now->histogram_count, 2);
	ck_assert_uint_eq(now->finding_count, 1);
	ck_assert_uint_eq(full - empty,
			  sizeof(struct iaprof_device) + sizeof(struct iaprof_process) +
				  sizeof(struct iaprof_call_function) + sizeof(struct iaprof_call_node) +
				  2 * (sizeof(struct iaprof_histogram) + 8 * IAPROF_HISTOGRAM_BUCKET_COUNT_MAX) +
				  sizeof(struct iaprof_finding) + sizeof(struct iaprof_counter) +
				  2 * sizeof(struct iaprof_counter_point) + sizeof(struct iaprof_track) +
				  2 * (sizeof(struct iaprof_event) + sizeof(char *)) +
				  sizeof "" /* of the process, which has no name */);
	const struct iaprof_histogram *histogram = iaprof_activity_histogram(now, 1);
	ck_assert_str_eq(histogram->name, "jobs: run time");
	ck_assert_uint_eq(histogram->count, 1);
	ck_assert_uint_eq(histogram->sum, 50);
	ck_assert_uint_eq(histogram->maximum, 50);
	for (unsigned i = 0; i < IAPROF_HISTOGRAM_BUCKET_COUNT_MAX; i++)
		ck_assert_uint_eq(histogram->buckets[i], i == 5); /* 32 to 63 */
	ck_assert_uint_eq(now->jobs_done, 1);
}

/* Calls that were added up: the first began at first_time, the last at the record's. */
TEST(calls_end_when_the_last_one_did)
{
	function_id = 0;
	function_add("zeInit", "api", IAPROF_CALL_API);
	node_add(1, 0);
	for (int i = 0; i < 2; i++) {
		struct iaprof_record_call record = { .header = header(IAPROF_RECORD_CALL, sizeof record, 1000),
						     .pid = 7,
						     .tid = 8,
						     .first_time = i ? 1001 : 400,
						     .count = 4,
						     .duration = 200,
						     .self_duration = 100,
						     .result = -5,
						     .node = 1 };
		record_order_add(&order, WAIT_PROCESSES, &record.header);
		record.node = 2; /* never announced */
		record_order_add(&order, WAIT_PROCESSES, &record.header);
	}
	place(999);
	ck_assert_uint_eq(content()->track_count, 0);
	place(1000);
	const struct iaprof_track *track = iaprof_activity_track(content(), 0);
	ck_assert_uint_eq(track->count, 8);
	for (int i = 0; i < 2; i++) {
		const struct iaprof_event *event = &track->events[i];
		ck_assert_uint_eq(event->begin, i ? 1000 : 400);
		ck_assert_uint_eq(event->end, 1050);
		ck_assert_uint_eq(event->duration, 200);
		ck_assert_uint_eq(event->busy, 200);
		ck_assert_uint_eq(event->tid, 8);
		ck_assert_int_eq(event->result, -5);
		ck_assert_uint_eq(event->function, 0);
	}
	ck_assert_uint_eq(content()->calls_dropped, 8);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
