/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that are counted in memory: what the tracer's side counts and what it fires the probe for is, together and
 * for each kernel and stack, what was launched, whatever threads, turns, forks and endings lie between. The profiler's
 * side takes any contents of the memory.
 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_suite.h"
#include "ze-usdt/count_areas.h"
#include "ze-usdt/tracer/launch_counts.h"
#include "ze-usdt/tracer/probe_sites.h"

#define KERNELS 1000u

/* The profiler, and what the probe has reported since its last turn, as in the BPF program's maps. */
static struct {
	struct iaprof_host host;
	struct count_areas areas;
	pthread_mutex_t lock;       /* of what was fired */
	pthread_mutex_t areas_lock; /* threads announce their areas */
	struct broker *broker;      /* until the end of the test program */
	ARRAY(struct known_launch) fired;
	uint64_t fired_total;
	bool countable;
	unsigned announced; /* areas */
	uint64_t lost;
	uint64_t found[KERNELS];
} profiler = { .lock = PTHREAD_MUTEX_INITIALIZER, .areas_lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t launched[KERNELS];

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The profiler's clock is ahead, so that what it declares valid is still so when this machine is busy. */
static uint64_t clock_read(const struct iaprof_host *host)
{
	return now() + UINT64_C(3600000000000);
}

static void lost_count(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		       uint32_t value_type, uint64_t value)
{
	profiler.lost += count;
}

static bool is_countable(void *context, const struct ze_process *process)
{
	return profiler.countable;
}

static struct ze_process this_process(void)
{
	return (struct ze_process){ .id = (uint32_t)getpid(), .program = 1 };
}

void probe_share_counts(uint64_t area)
{
	struct ze_event event = { .type = ZE_EVENT_COUNTS, .process = this_process(), .area = area };

	pthread_mutex_lock(&profiler.areas_lock);
	profiler.announced++;
	count_areas_open(&profiler.areas, &event);
	pthread_mutex_unlock(&profiler.areas_lock);
}

static struct count_areas areas_new(void)
{
	if (!profiler.broker)
		profiler.broker = broker_new();
	return (struct count_areas){ .host = &profiler.host, .broker = profiler.broker, .is_countable = is_countable };
}

/* Opening mappings requires privileges. */
static bool profiler_begin(void)
{
	if (geteuid() != 0)
		return false;
	memset(launched, 0, sizeof launched);
	memset(profiler.found, 0, sizeof profiler.found);
	profiler.host = (struct iaprof_host){ .size = sizeof profiler.host, .clock = clock_read, .lost = lost_count };
	profiler.areas = areas_new();
	profiler.fired.count = 0;
	profiler.fired_total = profiler.lost = 0;
	profiler.announced = 0;
	profiler.countable = true;
	return true;
}

static int found_late(void *context, const struct known_launch *launch, const struct counted *counted)
{
	ck_assert_uint_le(counted->first_time, counted->last_time);
	profiler.found[launch->key.kernel] += counted->count;
	return 0;
}

/* One turn; launches that fire the probe meanwhile belong to the next one. */
static void profiler_turn(bool is_last)
{
	struct counted counted;

	pthread_mutex_lock(&profiler.lock);
	__typeof__(profiler.fired) fired = profiler.fired;
	memset(&profiler.fired, 0, sizeof profiler.fired);
	pthread_mutex_unlock(&profiler.lock);
	profiler.fired_total += fired.count;
	pthread_mutex_lock(&profiler.areas_lock);
	for (size_t i = 0; i < fired.count; i++) {
		const struct known_launch *known = &fired.items[i];
		profiler.found[known->key.kernel]++;
		if (known->key.cell && count_areas_take(&profiler.areas, known, clock_read(NULL), &counted))
			profiler.found[known->key.kernel] += counted.count;
	}
	array_free(&fired);
	ck_assert_int_eq(count_areas_sweep(&profiler.areas, clock_read(NULL), is_last, found_late, NULL), 0);
	count_areas_renew(&profiler.areas, clock_read(NULL));
	pthread_mutex_unlock(&profiler.areas_lock);
}

/* Everything that was launched was found; counted: some of it in memory. */
static void profiler_end(bool counted)
{
	count_areas_close(&profiler.areas, now());
	profiler_turn(false);
	profiler_turn(true);
	for (unsigned i = 0; i < KERNELS; i++)
		ck_assert_uint_eq(profiler.found[i], launched[i]);
	ck_assert_uint_eq(profiler.lost, 0);
	ck_assert_int_eq(profiler.areas.launches > 0, counted);
	count_areas_free(&profiler.areas);
}

/* As launch_report(). */
static void launch(struct launch_counts *counts, struct count_block **block, unsigned kernel)
{
	static const char kernels[KERNELS];
	const struct counted_launch launch = { &kernels[kernel], 1, kernel, 0, kernel % 7 + 1 };
	uint32_t tag;

	if (!launch_counts_add(counts, block, &launch, 1, &tag)) {
		pthread_mutex_lock(&profiler.lock);
		const struct known_launch known = { .key = { .process = this_process(), .kernel = kernel, .cell = tag },
						    .time = now() };
		ck_assert(array_push(&profiler.fired, known));
		pthread_mutex_unlock(&profiler.lock);
	}
	__atomic_fetch_add(&launched[kernel], 1, __ATOMIC_RELAXED);
}

/* A generator of its own for each thread; the same numbers in each run. */
static unsigned number(unsigned *state, unsigned limit)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % limit;
}

TEST(launches_add_up)
{
	struct launch_counts counts = { 0 };
	struct count_block *block = NULL;
	unsigned state = 1;

	if (!profiler_begin())
		return;
	for (unsigned i = 0; i < 200000; i++) {
		launch(&counts, &block, number(&state, 20 + i / 10000 * 10));
		if (number(&state, 500) == 0)
			profiler_turn(false);
	}
	ck_assert_uint_eq(profiler.areas.opened, 1);
	launch_counts_release(&block);
	profiler_end(true);
}

/* More kernels than a thread has cells: cells are used again. */
TEST(cells_are_used_again)
{
	struct launch_counts counts = { 0 };
	struct count_block *block = NULL;

	if (!profiler_begin())
		return;
	for (unsigned kernel = 0; kernel < KERNELS; kernel++) {
		for (unsigned i = 0; i < 300; i++) {
			launch(&counts, &block, kernel);
			if (i % 100 == 50)
				profiler_turn(false);
		}
	}
	/* Each kernel fires the probe once a turn: no cell is missing. */
	ck_assert_uint_lt(profiler.fired_total, 4 * KERNELS + 100);
	launch_counts_release(&block);
	profiler_end(true);
}

struct worker {
	pthread_t thread;
	struct launch_counts *counts;
	unsigned state, launches;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct count_block *block = NULL;

	for (unsigned i = 0; i < worker->launches; i++)
		launch(worker->counts, &block, number(&worker->state, 60));
	launch_counts_release(&block);
	return NULL;
}

/* Threads that come and go, some of them more than there are blocks, beside turns at any time. */
static void threads_run(unsigned threads, unsigned launches, unsigned generations)
{
	static struct worker workers[64];
	struct launch_counts counts = { 0 };

	for (unsigned i = 0; i < generations; i++) {
		for (unsigned j = 0; j < threads; j++) {
			workers[j] = (struct worker){ .counts = &counts, .state = i * 64 + j, .launches = launches };
			ck_assert_int_eq(pthread_create(&workers[j].thread, NULL, work, &workers[j]), 0);
		}
		for (unsigned j = 0; j < 20; j++)
			profiler_turn(false);
		for (unsigned j = 0; j < threads; j++) {
			pthread_join(workers[j].thread, NULL);
			profiler_turn(false);
		}
	}
}

TEST(threads_add_up)
{
	if (!profiler_begin())
		return;
	threads_run(8, 100000, 1);
	profiler_end(true);
}

TEST(threads_come_and_go)
{
	if (!profiler_begin())
		return;
	threads_run(50, 500, 10);
	profiler_end(true);
}

/* What a thread counted is not what the next one counts, which has its cells. */
TEST(each_thread_fires_the_probe_first)
{
	struct launch_counts counts = { 0 };
	struct count_block *one = NULL, *other = NULL;

	if (!profiler_begin())
		return;
	launch(&counts, &one, 1); /* announces the area */
	for (unsigned i = 0; i < 10; i++)
		launch(&counts, &one, 1);
	const struct count_block *block = one;
	launch_counts_release(&one);
	for (unsigned i = 0; i < 10; i++)
		launch(&counts, &other, 1);
	ck_assert_ptr_eq(other, block);
	ck_assert_uint_eq(profiler.fired.count, 3);
	launch_counts_release(&other);
	profiler_end(true);
}

/* A forked child whose thread had a block, beside a new thread. */
static void child_run(struct launch_counts *counts, struct count_block **block)
{
	struct count_block *other = NULL;

	memset(launched, 0, sizeof launched);
	profiler.broker = NULL; /* the parent's */
	profiler.areas = areas_new();
	profiler.fired.count = 0;
	profiler.fired_total = 0;
	profiler.announced = 0;
	for (unsigned i = 0; i < 100; i++)
		launch(counts, &other, 1);
	for (unsigned i = 0; i < 100; i++)
		launch(counts, block, 1);
	ck_assert_ptr_ne(*block, other);
	launch_counts_release(block);
	launch_counts_release(&other);
	profiler_end(true);
	ck_assert_uint_eq(profiler.announced, 1);
}

TEST(a_forked_child_counts_in_an_area_of_its_own)
{
	struct launch_counts counts = { 0 };
	struct count_block *block = NULL;
	int status;

	if (!profiler_begin())
		return;
	for (unsigned i = 0; i < 1000; i++)
		launch(&counts, &block, 1);
	pid_t child = fork();
	if (child == 0) {
		child_run(&counts, &block);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	for (unsigned i = 0; i < 1000; i++)
		launch(&counts, &block, 1);
	launch_counts_release(&block);
	profiler_end(true);
}

TEST(without_a_profiler_that_reads_each_launch_fires_the_probe)
{
	struct launch_counts counts = { 0 };
	struct count_block *block = NULL;

	if (!profiler_begin())
		return;
	profiler.countable = false;
	for (unsigned i = 0; i < 100; i++)
		launch(&counts, &block, 1);
	profiler_turn(false);
	ck_assert_uint_eq(profiler.fired_total, 100);
	profiler.countable = true;
	profiler_turn(false);
	for (unsigned i = 0; i < 100; i++)
		launch(&counts, &block, 1);
	profiler_turn(false);
	ck_assert_uint_eq(profiler.fired_total, 101);
	ck_assert_uint_eq(profiler.areas.launches, 99);
	/* The profiler ends, and another one comes. */
	count_areas_close(&profiler.areas, now());
	for (unsigned i = 0; i < 100; i++)
		launch(&counts, &block, 1);
	profiler_turn(false);
	ck_assert_uint_eq(profiler.fired_total, 201);
	ck_assert_uint_eq(profiler.announced, 2);
	count_areas_free(&profiler.areas);
	profiler.areas = areas_new();
	const struct counted_launch other = { &counts, 1, 2, 0, 3 };
	uint32_t tag;
	ck_assert(!launch_counts_add(&counts, &block, &other, 2, &tag));
	ck_assert_uint_eq(profiler.announced, 3);
	for (unsigned i = 0; i < 100; i++)
		launch(&counts, &block, 1);
	profiler_turn(false);
	ck_assert_uint_eq(profiler.fired_total, 202);
	ck_assert_uint_eq(profiler.areas.launches, 99);
	count_areas_free(&profiler.areas);
	launch_counts_release(&block);
}

static int file_make(const char *name, size_t size, int seals)
{
	int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(ftruncate(file, (off_t)size), 0);
	ck_assert_int_eq(fcntl(file, F_ADD_SEALS, seals), 0);
	return file;
}

static void *map(int file, size_t size)
{
	void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	ck_assert_ptr_ne(mapped, MAP_FAILED);
	close(file);
	return mapped;
}

/* Launches between the last reading and the one that fires the probe in the next turn. */
TEST(the_first_time_is_not_after_any_launch)
{
	if (!profiler_begin())
		return;
	int file = file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE, ZE_COUNT_SEALS);
	int again = fcntl(file, F_DUPFD_CLOEXEC, 0);
	struct ze_count_area *area = map(file, ZE_COUNT_SIZE);
	struct known_launch known = { .key = { .process = this_process(), .cell = ZE_COUNT_CELLS }, .time = 100 };
	struct counted counted;

	ck_assert_int_eq(count_areas_add(&profiler.areas, &known.key.process, 1, again), 0);
	area->cells[0] = (struct ze_count_cell){ .tag = ZE_COUNT_CELLS, .count = 5, .last_time = 200 };
	ck_assert(count_areas_take(&profiler.areas, &known, 1000, &counted));
	ck_assert_uint_eq(counted.first_time, 100);
	ck_assert_uint_eq(counted.last_time, 200);
	known.time = 300;
	area->cells[0].fired_count = 7;
	area->cells[0].count = 9;
	area->cells[0].last_time = 400;
	ck_assert(count_areas_take(&profiler.areas, &known, 1000, &counted));
	ck_assert_uint_eq(counted.count, 4);
	ck_assert_uint_eq(counted.first_time, 200);
	known.time = 500;
	area->cells[0].fired_count = 9;
	area->cells[0].count = 10;
	area->cells[0].last_time = 600;
	ck_assert(count_areas_take(&profiler.areas, &known, 1000, &counted));
	ck_assert_uint_eq(counted.first_time, 500);
	/* Late ones are after those that were read, and not ahead of the clock. */
	area->cells[0].count = 12;
	area->cells[0].last_time = 2000;
	ck_assert(!count_areas_sweep(&profiler.areas, 1000, false, found_late, NULL));
	ck_assert_uint_eq(profiler.found[0], 2);
	ck_assert_uint_eq(profiler.areas.items.items[0]->cells[0].last_time, 1000);
	/* Those that follow a reading without any are after it. */
	ck_assert(!count_areas_sweep(&profiler.areas, 5000, false, found_late, NULL));
	ck_assert_uint_eq(profiler.areas.items.items[0]->cells[0].last_time, 5000);
	/*
	 * The cell counts another kernel, which was launched and read over two turns: its first launch in the second
	 * one is not the first with this tag.
	 */
	known.key.cell += ZE_COUNT_CELLS;
	known.time = 6000;
	area->cells[0] =
		(struct ze_count_cell){ .tag = known.key.cell, .count = 20, .last_time = 6300, .fired_count = 16 };
	ck_assert(count_areas_take(&profiler.areas, &known, 7000, &counted));
	ck_assert_uint_eq(counted.count, 8);
	ck_assert_uint_eq(counted.first_time, 6000);
	count_areas_free(&profiler.areas);
}

/* The earlier run reads what was counted up to its end, and the next one what a late thread counted after that. */
TEST(the_next_run_reads_what_the_earlier_one_left)
{
	if (!profiler_begin())
		return;
	int file = file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE, ZE_COUNT_SEALS);
	int files[] = { fcntl(file, F_DUPFD_CLOEXEC, 0), fcntl(file, F_DUPFD_CLOEXEC, 0),
			fcntl(file, F_DUPFD_CLOEXEC, 0) };
	struct ze_count_area *area = map(file, ZE_COUNT_SIZE);
	struct known_launch known = { .key = { .process = this_process(), .cell = ZE_COUNT_CELLS }, .time = 100 };
	struct count_areas next = { .host = &profiler.host, .is_countable = is_countable };
	uint64_t time = clock_read(NULL);
	struct counted counted;

	area->cells[0] = (struct ze_count_cell){ .tag = ZE_COUNT_CELLS, .count = UINT32_MAX };
	ck_assert_int_eq(count_areas_add(&profiler.areas, &known.key.process, 1, files[0]), 0);
	count_areas_renew(&profiler.areas, time);
	ck_assert_uint_gt(area->valid_until, time + 1000);
	area->cells[0].count += 5;
	count_areas_close(&profiler.areas, time + 1000);
	ck_assert_uint_eq(area->valid_until, time + 1000);
	count_areas_renew(&profiler.areas, time + 1001);
	ck_assert_uint_eq(area->valid_until, time + 1000);
	ck_assert(count_areas_take(&profiler.areas, &known, time, &counted));
	ck_assert_uint_eq(counted.count, 5);
	count_areas_hand_over(&profiler.areas);
	/* A thread that was late. */
	area->cells[0].count += 2;
	ck_assert_int_eq(count_areas_add(&next, &known.key.process, 1, files[1]), 0);
	count_areas_renew(&next, time + 2000);
	ck_assert_uint_gt(area->valid_until, time + 2000);
	ck_assert(count_areas_take(&next, &known, time + 3000, &counted));
	ck_assert_uint_eq(counted.count, 2);
	/* The turn has changed since: another profiler has read what was counted. */
	area->cells[0].count += 3;
	count_areas_free(&next);
	ck_assert_int_eq(count_areas_add(&next, &known.key.process, 1, files[2]), 0);
	ck_assert(!count_areas_take(&next, &known, time, &counted) || !counted.count);
	count_areas_free(&next);
	count_areas_free(&profiler.areas);
	munmap(area, ZE_COUNT_SIZE);
}

TEST(launches_without_a_stack_fire_the_probe)
{
	struct launch_counts counts = { 0 };
	struct count_block *block = NULL;
	const struct counted_launch stackless = { &counts, 1, 2, 0, 0 };
	uint32_t tag = 1;

	if (!profiler_begin())
		return;
	launch(&counts, &block, 1);
	for (unsigned i = 0; i < 10; i++)
		ck_assert(!launch_counts_add(&counts, &block, &stackless, 1, &tag));
	ck_assert_uint_eq(tag, 0);
	/* As do those of a thread without state. */
	for (unsigned i = 0; i < 10; i++)
		ck_assert(!launch_counts_add(&counts, NULL, &(struct counted_launch){ &counts, 1, 2, 0, 3 }, 1, &tag));
	ck_assert_uint_eq(tag, 0);
	launch_counts_release(&block);
	profiler_end(false);
}

TEST(a_process_with_small_files_fires_the_probe)
{
	struct launch_counts counts = { 0 };
	struct count_block *block = NULL;
	const struct rlimit small = { ZE_COUNT_SIZE - 1, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };

	if (!profiler_begin())
		return;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned i = 0; i < 100; i++)
		launch(&counts, &block, 1);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
	ck_assert_uint_eq(profiler.announced, 0);
	profiler_end(false);
}

TEST(other_files_are_refused)
{
	const struct ze_process process = this_process();
	char path[] = "/tmp/iaprof-counts-XXXXXX";

	profiler_begin();
	struct count_areas *areas = &profiler.areas;
	areas->host = &profiler.host;
	ck_assert_int_lt(count_areas_add(areas, &process, 0, file_make("a", ZE_COUNT_SIZE - 4096, ZE_COUNT_SEALS)), 0);
	ck_assert_int_lt(count_areas_add(areas, &process, 0, file_make("a", ZE_COUNT_SIZE + 4096, ZE_COUNT_SEALS)), 0);
	ck_assert_int_lt(count_areas_add(areas, &process, 0, file_make("a", ZE_COUNT_SIZE, F_SEAL_GROW)), 0);
	ck_assert_int_lt(
		count_areas_add(areas, &process, 0, file_make("a", ZE_COUNT_SIZE, ZE_COUNT_SEALS | F_SEAL_WRITE)), 0);
	int file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	unlink(path);
	ck_assert_int_eq(ftruncate(file, (off_t)ZE_COUNT_SIZE), 0);
	ck_assert_int_lt(count_areas_add(areas, &process, 0, file), 0);
	ck_assert_int_eq(count_areas_add(areas, &process, 0, file_make("a", ZE_COUNT_SIZE, ZE_COUNT_SEALS)), 0);
	count_areas_free(areas);
}

/* Announces what is mapped at an address. Returns whether it was taken for an area. */
static bool is_opened(uint64_t address)
{
	uint64_t opened = profiler.areas.opened;
	struct ze_event event = { .process = this_process(), .area = address };

	count_areas_open(&profiler.areas, &event);
	return profiler.areas.opened > opened;
}

TEST(other_mappings_are_refused)
{
	if (!profiler_begin())
		return;
	uint64_t good = (uintptr_t)map(file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE, ZE_COUNT_SEALS), ZE_COUNT_SIZE);
	ck_assert(!is_opened(0));
	ck_assert(!is_opened(UINT64_MAX - 4095));
	ck_assert(!is_opened((uintptr_t)&profiler));
	ck_assert(!is_opened(good + 8));
	ck_assert(!is_opened(good + 4096));
	ck_assert(!is_opened((uintptr_t)map(file_make("other", ZE_COUNT_SIZE, ZE_COUNT_SEALS), ZE_COUNT_SIZE)));
	ck_assert(!is_opened((uintptr_t)map(file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE, F_SEAL_SHRINK), ZE_COUNT_SIZE)));
	ck_assert(!is_opened(
		(uintptr_t)map(file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE + 4096, ZE_COUNT_SEALS), ZE_COUNT_SIZE)));
	ck_assert(is_opened(good));
	ck_assert(!is_opened(good));
	ck_assert_uint_gt(((struct ze_count_area *)(uintptr_t)good)->valid_until, 0);
	/* An announcement of another one ends it, after some turns. */
	uint64_t next = (uintptr_t)map(file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE, ZE_COUNT_SEALS), ZE_COUNT_SIZE);
	ck_assert(is_opened(next));
	ck_assert_uint_eq(profiler.areas.items.count, 2);
	for (unsigned i = 0; i < 10; i++)
		profiler_turn(false);
	ck_assert_uint_eq(profiler.areas.items.count, 1);
	/* No process keeps the profiler busy with announcements. */
	for (unsigned i = 0; i < 100000; i++)
		is_opened(0);
	ck_assert(!is_opened(good));
	profiler_turn(false);
	ck_assert(is_opened(good));
	for (unsigned i = 0; i < 10; i++)
		profiler_turn(false);
	ck_assert_uint_eq(profiler.areas.items.count, 1);
	/* An area ends with its process, or with a later program of it. */
	const struct ze_process other = { .id = (uint32_t)getpid(), .program = 0 };
	count_areas_forget_process(&profiler.areas, &other);
	ck_assert_uint_eq(profiler.areas.items.count, 1);
	const struct ze_process later = { .id = (uint32_t)getpid(), .program = 2 };
	count_areas_forget_process(&profiler.areas, &later);
	ck_assert_uint_eq(profiler.areas.items.count, 0);
	count_areas_free(&profiler.areas);
}

TEST(impossible_contents_are_lost_and_end_the_area)
{
	if (!profiler_begin())
		return;
	int file = file_make(ZE_COUNT_FILE, ZE_COUNT_SIZE, ZE_COUNT_SEALS);
	int again = fcntl(file, F_DUPFD_CLOEXEC, 0);
	struct ze_count_area *area = map(file, ZE_COUNT_SIZE);
	const struct ze_process process = this_process();

	area->cells[9].count = 5; /* of an earlier profiler */
	ck_assert_int_eq(count_areas_add(&profiler.areas, &process, 1, again), 0);
	/* The counted kernel is not announced: lost, after some turns. */
	area->cells[3].tag = ZE_COUNT_CELLS + 3;
	area->cells[3].count = 7;
	area->cells[3].last_time = UINT64_MAX;
	area->cells[9].count = 6;
	for (unsigned i = 0; i < 5; i++)
		profiler_turn(false);
	ck_assert_uint_eq(profiler.lost, 8);
	ck_assert_uint_eq(profiler.areas.launches, 8);
	/* A tag that is not the cell's. */
	struct known_launch known = { .key = { .process = process, .kernel = 1, .cell = 2 * ZE_COUNT_CELLS + 3 } };
	struct counted counted;
	area->cells[3].count = 8;
	ck_assert(!count_areas_take(&profiler.areas, &known, clock_read(NULL), &counted));
	ck_assert_uint_eq(counted.count, 0);
	known.key.cell = ZE_COUNT_CELLS + 3;
	ck_assert(count_areas_take(&profiler.areas, &known, clock_read(NULL), &counted));
	ck_assert_uint_eq(counted.count, 1);
	ck_assert_uint_le(counted.last_time, clock_read(NULL));
	/* Fewer than before. */
	area->cells[3].count = 2;
	profiler_turn(false);
	ck_assert_uint_eq(profiler.lost, 8 + IAPROF_COUNT_UNKNOWN);
	uint64_t valid_until = area->valid_until;
	ck_assert_uint_le(valid_until, clock_read(NULL));
	profiler_turn(false);
	ck_assert_uint_eq(area->valid_until, valid_until);
	area->cells[3].count = 9;
	ck_assert(!count_areas_take(&profiler.areas, &known, clock_read(NULL), &counted));
	ck_assert_uint_eq(profiler.areas.launches, 9);
	count_areas_free(&profiler.areas);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
