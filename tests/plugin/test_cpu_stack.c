/* SPDX-License-Identifier: Apache-2.0 */
/* cpu-stack on the running Linux kernel, held against a program whose CPU use is known and against its own counters. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_source.h"
#include "load_program.h"
#include "test_host.h"
#include "../run_suite.h"

static const struct iaprof_record_sample *sample_next(struct test_host *host, const struct iaprof_record_sample *sample)
{
	return (const void *)test_host_next(host, sample ? &sample->header : NULL, IAPROF_RECORD_SAMPLE);
}

#define FOR_EACH_SAMPLE(sample, host)                                                                                  \
	for (const struct iaprof_record_sample *sample = NULL; (sample = sample_next(host, sample));)

/* The last value of a counter. */
static uint64_t counter_value(struct test_host *host, const char *name)
{
	uint32_t id = 0;
	double value = -1;

	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		const struct iaprof_record_counter *counter = (const void *)record;
		const struct iaprof_record_counter_value *set = (const void *)record;
		if (record->type == IAPROF_RECORD_COUNTER && strcmp(test_host_string(host, counter->name), name) == 0) {
			ck_assert_uint_eq(counter->kind, IAPROF_COUNTER_CUMULATIVE);
			id = counter->id;
		} else if (record->type == IAPROF_RECORD_COUNTER_VALUE && id && set->counter == id) {
			ck_assert(set->value >= value);
			value = set->value;
		}
	}
	ck_assert_msg(value >= 0, "counter %s has no value", name);
	return (uint64_t)value;
}

/* What is true of every run: each tick is accounted for, and each sample follows the schema. Returns samples. */
static uint64_t samples_check(struct test_host *host)
{
	uint64_t total = 0;

	FOR_EACH_SAMPLE(sample, host)
	{
		const struct iaprof_record_value_type *type = test_host_value_type(host, sample->value_type);
		ck_assert_str_eq(test_host_string(host, type->name), "cpu");
		ck_assert_str_eq(test_host_string(host, type->unit), "nanoseconds");
		ck_assert_uint_ge(sample->count, 1);
		ck_assert_uint_eq(sample->value, sample->count * type->period);
		ck_assert_uint_le(sample->first_time, sample->header.time);
		const struct iaprof_record_stack *user = test_host_stack(host, sample->user_stack);
		const struct iaprof_record_stack *kernel = test_host_stack(host, sample->kernel_stack);
		ck_assert(!user || (user->pid == sample->pid && user->pid != 0));
		ck_assert(!kernel || kernel->pid == 0);
		/* A CPU is always somewhere: in a stack, or in one that is missing. */
		ck_assert_msg(user || kernel ||
				      (sample->flags &
				       (IAPROF_SAMPLE_USER_STACK_MISSING | IAPROF_SAMPLE_KERNEL_STACK_MISSING)),
			      "process %u (%s): no stack and no flag", sample->pid,
			      test_host_string(host, sample->name));
		total += sample->count;
	}
	ck_assert_uint_eq(total + test_host_lost(host, NULL) + counter_value(host, "ticks-idle") +
				  counter_value(host, "ticks-filtered"),
			  counter_value(host, "ticks"));
	ck_assert_uint_gt(counter_value(host, "kernel-side-time"), 0);
	return total;
}

static void target_pids(struct test_host *host, const uint32_t *pids, uint32_t count)
{
	host->target.scope = IAPROF_SCOPE_PIDS;
	host->target.pids = pids;
	host->target.pid_count = count;
}

static void target_command(struct test_host *host, const struct load_program *load)
{
	host->target.scope = IAPROF_SCOPE_COMMAND;
	host->target.command_pid = (uint32_t)load->pid;
}

/* Lets load run to its end under a started host, then stops the host. */
static void run_to_end(struct test_host *host, struct load_program *load)
{
	load_program_go(load);
	while (!load_program_ended(load))
		ck_assert_int_eq(test_host_run(host, 20), 0);
	test_host_stop(host);
}

static uint64_t samples_of(struct test_host *host, pid_t pid)
{
	uint64_t count = 0;

	FOR_EACH_SAMPLE(sample, host)
	count += sample->pid == (uint32_t)pid ? sample->count : 0;
	return count;
}

/* A machine that is busy with other things has fewer ticks in the same time: load runs until there are enough. */
#define AS_LONG_AS_NEEDED "120000"

static void run_until_samples(struct test_host *host, struct load_program *load, uint64_t wanted)
{
	load_program_go(load);
	while (!load_program_ended(load) && samples_of(host, load->pid) < wanted)
		ck_assert_int_eq(test_host_run(host, 20), 0);
	test_host_stop(host);
}

static void shares_check(const char *threads)
{
	static const double truth[LOAD_FUNCTION_COUNT] = { 50, 30, 15, 5 };
	uint64_t counts[LOAD_FUNCTION_COUNT] = { 0 };
	uint64_t total = 0;
	struct load_program load = load_program_start("shares", AS_LONG_AS_NEEDED, threads, NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=3999", NULL);

	target_pids(host, &pid, 1);
	test_host_start(host);
	run_until_samples(host, &load, 2500);
	samples_check(host);
	FOR_EACH_SAMPLE(sample, host)
	{
		int function = load_program_function(&load, test_host_stack(host, sample->user_stack));
		ck_assert_uint_eq(sample->pid, pid);
		ck_assert_str_eq(test_host_string(host, sample->name), "load");
		total += sample->count;
		if (function >= 0)
			counts[function] += sample->count;
	}
	/* At least four standard deviations of a share of one half. */
	const char *allowed = getenv("TEST_SHARE_POINTS");
	double points = fmax(allowed ? atof(allowed) : 3, 100 * 4 * sqrt(0.25 / (double)total));
	for (int i = 0; i < LOAD_FUNCTION_COUNT; i++) {
		double share = 100.0 * (double)counts[i] / (double)total;
		ck_assert_msg(fabs(share - truth[i]) < points, "%.0f %% of the CPU time has %.2f %%", truth[i], share);
	}
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	test_host_free(host);
	load_program_stop(&load);
}

TEST(shares_are_true)
{
	shares_check("1");
}

TEST(threads_are_their_process)
{
	shares_check("3");
}

/* The stack goes on from the function to main() and to what called it. */
TEST(stacks_reach_the_root)
{
	struct load_program load = load_program_start("deep", AS_LONG_AS_NEEDED, NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=999", NULL);
	uint64_t deep = 0, total = 0;

	target_pids(host, &pid, 1);
	test_host_start(host);
	run_until_samples(host, &load, 400);
	samples_check(host);
	FOR_EACH_SAMPLE(sample, host)
	{
		const struct iaprof_record_stack *stack = test_host_stack(host, sample->user_stack);
		if (load_program_function(&load, stack) < 0)
			continue;
		total += sample->count;
		/* burn_50, 17 of deep_left and deep_right, deep_run, main, and libc's two */
		if (stack->count >= 20)
			deep += sample->count;
		ck_assert(!(sample->flags & IAPROF_SAMPLE_TRUNCATED));
	}
	ck_assert_uint_gt(total, 100);
	ck_assert_uint_ge(deep * 100, total * 95);
	test_host_free(host);
	load_program_stop(&load);
}

/* Each child has some 160 ticks of 40 ms of CPU time, most of which the host of a virtual machine may take away. */
TEST(command_has_its_children)
{
	struct load_program other = load_program_start("shares", "600000", NULL);
	struct load_program load = load_program_start("fork", "40", "25", NULL);
	uint32_t command = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=3999", NULL);
	/* Children come one after another, but those of one drain in any order. */
	uint32_t seen[25] = { 0 }, children = 0;
	uint64_t in_children = 0;

	target_command(host, &load);
	test_host_start(host);
	load_program_go(&other);
	run_to_end(host, &load);
	samples_check(host);
	ck_assert_uint_gt(counter_value(host, "ticks-filtered"), 0);
	FOR_EACH_SAMPLE(sample, host)
	{
		uint32_t at = 0;
		ck_assert_uint_ne(sample->pid, (uint32_t)other.pid);
		ck_assert_str_eq(test_host_string(host, sample->name), "load");
		if (sample->pid == command)
			continue;
		in_children += sample->count;
		while (at < children && seen[at] != sample->pid)
			at++;
		ck_assert_uint_lt(at, 25);
		if (at == children)
			seen[children++] = sample->pid;
	}
	ck_assert_uint_ge(children, 24);
	ck_assert_uint_gt(in_children, 400);
	test_host_free(host);
	load_program_stop(&load);
	load_program_stop(&other);
}

TEST(pids_are_only_those)
{
	struct load_program parent = load_program_start("fork", "50", "6", NULL);
	struct load_program load = load_program_start("shares", AS_LONG_AS_NEEDED, NULL);
	struct load_program other = load_program_start("shares", "60000", NULL);
	uint32_t pids[] = { (uint32_t)parent.pid, (uint32_t)load.pid };
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=999", NULL);

	target_pids(host, pids, 2);
	test_host_start(host);
	load_program_go(&other);
	load_program_go(&parent);
	run_until_samples(host, &load, 200);
	samples_check(host);
	uint64_t of_load = 0;
	FOR_EACH_SAMPLE(sample, host)
	{
		ck_assert(sample->pid == pids[0] || sample->pid == pids[1]);
		of_load += sample->pid == pids[1] ? sample->count : 0;
	}
	ck_assert_uint_gt(of_load, 100);
	test_host_free(host);
	load_program_stop(&parent);
	load_program_stop(&load);
	load_program_stop(&other);
}

/* No sample is of both programs, though both run the same code under the same name at the same addresses. */
TEST(exec_divides_samples)
{
	struct load_program load = load_program_start("exec", "500", NULL);
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=999", NULL);
	uint64_t before = 0, after = 0;

	target_command(host, &load);
	test_host_start(host);
	run_to_end(host, &load);
	samples_check(host);
	uint64_t time = load_program_exec_time(&load);
	FOR_EACH_SAMPLE(sample, host)
	{
		ck_assert(sample->header.time < time || sample->first_time > time);
		*(sample->header.time < time ? &before : &after) += sample->count;
	}
	ck_assert_uint_gt(before, 30);
	ck_assert_uint_gt(after, 30);
	test_host_free(host);
	load_program_stop(&load);
}

/* Samples that are counted together are of one slot of time, and those of different slots are not. */
TEST(times_are_kept_apart)
{
	const uint64_t width = 20000000;
	struct load_program load = load_program_start("shares", AS_LONG_AS_NEEDED, NULL);
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=999", NULL);
	uint64_t first = UINT64_MAX, last = 0, counted = 0;

	target_command(host, &load);
	host->target.time_resolution = width;
	test_host_start(host);
	run_until_samples(host, &load, 400);
	samples_check(host);
	FOR_EACH_SAMPLE(sample, host)
	{
		uint64_t slot = sample->header.time / width;
		ck_assert_uint_eq(sample->first_time / width, slot);
		/* No CPU has more in it than its ticks. */
		ck_assert_uint_le(sample->count, 21);
		first = first < slot ? first : slot;
		last = last > slot ? last : slot;
		counted += sample->count;
	}
	ck_assert_uint_ge(counted, 400);
	ck_assert_uint_ge(last - first + 1, counted / 21);
	test_host_free(host);
	load_program_stop(&load);
}

TEST(full_maps_are_counted)
{
	struct load_program load = load_program_start("deep", "600", NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=999", "map-size=16", NULL);
	bool found = false;

	target_pids(host, &pid, 1);
	test_host_start(host);
	run_to_end(host, &load);
	uint64_t total = samples_check(host);
	ck_assert_uint_gt(test_host_lost(host, "sample map full"), total);
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, IAPROF_RECORD_LOST));) {
		const struct iaprof_record_lost *lost = (const void *)record;
		ck_assert_uint_eq(lost->value, lost->count * test_host_value_type(host, lost->value_type)->period);
		ck_assert_uint_lt(lost->begin, lost->header.time);
	}
	for (const struct iaprof_record *record = NULL;
	     (record = test_host_next(host, record, IAPROF_RECORD_FINDING));) {
		const struct iaprof_record_finding *finding = (const void *)record;
		found |= strcmp(test_host_string(host, finding->name), "cpu-stack-map-full") == 0;
	}
	ck_assert(found);
	test_host_free(host);
	load_program_stop(&load);
}

/* A core that never sends tables: samples are held for a while, then sent as they are. */
TEST(samples_without_tables_are_marked)
{
	struct load_program load = load_program_start("shares", AS_LONG_AS_NEEDED, NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "frequency=999", NULL);
	uint64_t marked = 0;

	target_pids(host, &pid, 1);
	test_host_start(host);
	const char *user_stacks = test_host_metadata(host, "user stacks");
	if (user_stacks && strcmp(user_stacks, "frame pointers") == 0) {
		puts("# this Linux kernel has no bpf_loop()");
		test_host_free(host);
		load_program_stop(&load);
		return;
	}
	run_until_samples(host, &load, 400);
	samples_check(host);
	FOR_EACH_SAMPLE(sample, host)
	{
		ck_assert(!sample->user_stack || sample->flags & IAPROF_SAMPLE_NO_UNWIND_TABLE);
		marked += sample->user_stack ? sample->count : 0;
	}
	ck_assert_uint_ge(marked, 300);
	ck_assert_ptr_nonnull(strstr(test_host_metadata(host, "copied stacks"), ": 0 complete, 0 ended early"));
	test_host_free(host);
	load_program_stop(&load);
}

TEST(many_stacks_fit)
{
	struct load_program load = load_program_start("deep", AS_LONG_AS_NEEDED, NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=4999", NULL);

	target_pids(host, &pid, 1);
	test_host_start(host);
	load_program_go(&load);
	while (!load_program_ended(&load) && host->stacks.count <= 300)
		ck_assert_int_eq(test_host_run(host, 20), 0);
	test_host_stop(host);
	samples_check(host);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	ck_assert_uint_gt(host->stacks.count, 300);
	test_host_free(host);
	load_program_stop(&load);
}

/*
 * While CPUs write to one set of maps the other one is read: no sample and no stack may fall between them. The sets are
 * changed as often as can be, not once in a drain period.
 */
TEST(nothing_is_lost_between_two_sets)
{
	struct load_program load = load_program_start("deep", AS_LONG_AS_NEEDED, NULL);
	uint32_t pid = (uint32_t)load.pid;
	/* Slow enough for a source under valgrind: one that does not keep up loses samples, as it should. */
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=1999", NULL);

	target_pids(host, &pid, 1);
	test_host_start(host);
	ck_assert_uint_eq(host->watches.count, 1);
	load_program_go(&load);
	while (!load_program_ended(&load) && samples_of(host, load.pid) < 2000)
		for (int turn = 0; turn < 50; turn++)
			ck_assert_int_eq(host->watches.items[0].on_timer(&host->host, host->instance, 1), 0);
	test_host_stop(host);
	ck_assert_uint_gt(samples_check(host), 500);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	FOR_EACH_SAMPLE(sample, host)
	ck_assert(sample->user_stack || (sample->kernel_stack && !sample->flags));
	test_host_free(host);
	load_program_stop(&load);
}

TEST_LOOP(idle_only_when_asked, 0, 2)
{
	static const char *const settings[] = { "idle=no", "idle=yes" };

	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=499", settings[_i], NULL);
	test_host_start(host);
	ck_assert_int_eq(test_host_run(host, 300), 0);
	test_host_stop(host);
	samples_check(host);
	if (_i == 1)
		ck_assert_uint_eq(counter_value(host, "ticks-idle"), 0);
	FOR_EACH_SAMPLE(sample, host)
	ck_assert(_i == 1 || sample->pid != 0);
	test_host_free(host);
}

/* Another stride every 100 ms. */
static uint32_t changing_stride(const struct iaprof_host *host, uint32_t longest)
{
	static const uint32_t strides[] = { 1, 7, 20, 3, 11 };
	ck_assert_uint_eq(longest, 999);
	return strides[host->clock(host) / 100000000 % (sizeof strides / sizeof *strides)];
}
#define STRIDE_LONGEST 20u

/* Of a block of ticks, one is a sample: their values add up to the time of all ticks, whatever the stride was. */
TEST(values_are_right_while_the_rate_changes)
{
	struct test_host *host =
		test_host_new("cpu-stack", "unwind=fp", "frequency=999", "drain=10ms", "idle=yes", NULL);
	host->host.sample_stride = changing_stride;
	test_host_start(host);
	ck_assert_int_eq(test_host_run(host, 2000), 0);
	test_host_stop(host);
	uint64_t samples = 0, ticks = counter_value(host, "ticks"), covered = test_host_lost(host, NULL);
	FOR_EACH_SAMPLE(sample, host)
	{
		uint64_t period = test_host_value_type(host, sample->value_type)->period;
		ck_assert_uint_eq(sample->value % period, 0);
		ck_assert_uint_ge(sample->value, sample->count * period);
		ck_assert_uint_le(sample->value, sample->count * period * STRIDE_LONGEST);
		samples += sample->count;
		covered += sample->value / period;
	}
	/* At the end, a block of each CPU is not over, or has no sample yet. */
	uint64_t difference = covered > ticks ? covered - ticks : ticks - covered;
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	ck_assert_msg(difference <= cpus * STRIDE_LONGEST, "%lu ticks, %lu in samples", ticks, covered);
	ck_assert_uint_lt(samples, ticks);
	test_host_free(host);
}

TEST_LOOP(stacks_only_when_asked, 0, 2)
{
	static const char *const settings[] = { "user=no", "kernel=no" };

	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=999", settings[_i], NULL);
	test_host_start(host);
	ck_assert_int_eq(test_host_run(host, 200), 0);
	test_host_stop(host);
	FOR_EACH_SAMPLE(sample, host)
	{
		ck_assert(_i != 0 || !sample->user_stack);
		ck_assert(_i != 1 || !sample->kernel_stack);
	}
	test_host_free(host);
}

TEST(two_instances_do_not_meet)
{
	struct load_program load = load_program_start("shares", "400", NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *slow = test_host_new("cpu-stack", "unwind=fp", "frequency=199", NULL);
	struct test_host *fast = test_host_new("cpu-stack", "unwind=fp", "frequency=3999", NULL);

	target_pids(slow, &pid, 1);
	target_pids(fast, &pid, 1);
	test_host_start(slow);
	test_host_start(fast);
	load_program_go(&load);
	while (!load_program_ended(&load)) {
		ck_assert_int_eq(test_host_run(slow, 10), 0);
		ck_assert_int_eq(test_host_run(fast, 10), 0);
	}
	test_host_stop(slow);
	test_host_stop(fast);
	/* Twenty times as many ticks, but for those that a busy machine has no time for. */
	ck_assert_uint_gt(samples_check(fast), samples_check(slow));
	test_host_free(slow);
	test_host_free(fast);
	load_program_stop(&load);
}

int main(void)
{
	if (!live_source_can_run("cpu-stack"))
		return 0;
	return run_all_tests(600, NULL, NULL);
}
