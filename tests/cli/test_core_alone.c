/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core without the engine of iaprof, which is not linked: sinks receive the records of a source whose sums are
 * known, and profiles, if the program brings an engine of its own.
 */
#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "bus/engine.h"
#include "capture/capture_format.h"
#include "config/configuration.h"
#include "records/definitions.h"
#include "run/run.h"
#include "../run_suite.h"

#define TURNS 5
#define TURNS_OPTION ":turns=5"
#define PERIOD 1000000 /* of samples, ns */

/* The sums of the source, by record and name: see known_source.c. */
static const struct {
	const char *record, *name;
	uint64_t count;
} known[] = {
	{ "sample", "hot", 30 * TURNS },
	{ "sample", "warm", 10 * TURNS },
	{ "stall-sample", "sbid", 7 * TURNS },
	{ "stall-sample", "send", 3 * TURNS },
	{ "call", "ivpu_bo_create_ioctl", 2 * TURNS },
	{ "lost", "known loss", 5 * TURNS },
	{ "kernel", "matmul", 1 },
	{ "kernel", "softmax", 1 },
};
#define KNOWN_COUNT (sizeof known / sizeof *known)

static uint64_t sums[KNOWN_COUNT];

static void add_sum(const char *record, const char *name, uint64_t count)
{
	for (size_t i = 0; i < KNOWN_COUNT; i++)
		if (!strcmp(known[i].record, record) && !strcmp(known[i].name, name))
			sums[i] += count;
}

/* Compares the first sums, and begins new ones. */
static void check_sums(const char *output, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(sums[i] == known[i].count, "%s: %s %s: %lu, expected %lu", output, known[i].record,
			      known[i].name, sums[i], known[i].count);
	memset(sums, 0, sizeof sums);
}

static void add_record(const struct definitions *definitions, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_SAMPLE) {
		const struct iaprof_record_sample *sample = (const void *)record;
		ck_assert_uint_eq(sample->value, sample->count * PERIOD);
		add_sum("sample", definitions_text(definitions, sample->name), sample->count);
	} else if (record->type == IAPROF_RECORD_STALL_SAMPLE) {
		const struct iaprof_record_stall_sample *sample = (const void *)record;
		for (uint32_t i = 0; i < sample->reason_count; i++) {
			const struct iaprof_record_stall_reason *reason =
				definitions_find(definitions, IAPROF_RECORD_STALL_REASON, record->source, i);
			ck_assert_ptr_nonnull(reason);
			add_sum("stall-sample", definitions_text(definitions, reason->name),
				((const uint64_t *)(sample + 1))[i]);
		}
	} else if (record->type == IAPROF_RECORD_CALL) {
		const struct iaprof_record_call *call = (const void *)record;
		add_sum("call", definitions_text(definitions, call->name), call->count);
	} else if (record->type == IAPROF_RECORD_LOST) {
		const struct iaprof_record_lost *lost = (const void *)record;
		add_sum("lost", definitions_text(definitions, lost->reason), lost->count);
	} else if (record->type == IAPROF_RECORD_KERNEL) {
		const struct iaprof_record_kernel *kernel = (const void *)record;
		add_sum("kernel", definitions_text(definitions, kernel->name), 1);
	}
}

/* Adds the values of a profile, whose stacks have one frame. */
static void add_value(const struct definitions *definitions, const struct iaprof_record *record)
{
	static const char *names[8]; /* by the id of a stack */
	const struct iaprof_record_profile_stack *stack = (const void *)record;
	const struct iaprof_record_profile_value *value = (const void *)record;
	if (record->type == IAPROF_RECORD_PROFILE_STACK) {
		ck_assert_uint_lt(stack->id, 8);
		names[stack->id] = definitions_text(definitions, iaprof_record_profile_stack_frame(stack, 0)->name);
	} else if (record->type == IAPROF_RECORD_PROFILE_VALUE) {
		ck_assert_uint_eq(value->value, value->count * PERIOD);
		add_sum("sample", names[value->stack], value->count);
	}
}

/* Calls back with each record of a complete capture and the definitions so far. */
static void read_capture(const char *path,
			 void (*read)(const struct definitions *definitions, const struct iaprof_record *record))
{
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(file, 0);
	struct capture_reader reader = { .read = capture_read_file, .context = &file };
	struct definitions definitions = { 0 };
	struct iaprof_batch batch;
	int result = capture_reader_open(&reader);
	while (!result && (result = capture_reader_next(&reader, &batch)) == 1) {
		result = 0;
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			ck_assert_int_eq(definitions_take(&definitions, record), 0);
			read(&definitions, record);
		}
	}
	ck_assert_msg(!result && !reader.wrong[0], "%s: %s", path, reader.wrong);
	capture_reader_close(&reader);
	definitions_free(&definitions);
}

enum { COLUMN_RECORD = 2, COLUMN_NAME = 10, COLUMN_COUNT = 17, COLUMNS_READ };

static void read_rows(const char *path)
{
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	char line[4096];
	while (fgets(line, sizeof line, file)) {
		char *rest = line, *columns[COLUMNS_READ];
		for (int i = 0; i < COLUMNS_READ; i++)
			ck_assert_ptr_nonnull(columns[i] = strsep(&rest, ","));
		const char *count = columns[COLUMN_COUNT];
		add_sum(columns[COLUMN_RECORD], columns[COLUMN_NAME], *count ? strtoull(count, NULL, 10) : 1);
	}
	fclose(file);
}

/* An engine that counts the samples of two programs, and makes one profile, at the end of the run. */
struct engine {
	struct engine_services services;
	struct engine_options options;
	struct iaprof_value values[2];
	struct snapshot snapshot;
};

static const char *const programs[] = { "hot", "warm" };
static const struct iaprof_frame frames[] = { { .name = "hot", .kind = IAPROF_FRAME_PROCESS },
					      { .name = "warm", .kind = IAPROF_FRAME_PROCESS } };
static const uint32_t first = 0, second = 1;
static const struct iaprof_stack stacks[] = { { .frames = &first, .frame_count = 1 },
					      { .frames = &second, .frame_count = 1 } };
static const struct iaprof_value_type cpu = { .name = "cpu", .unit = "nanoseconds", .period = PERIOD };
static const char *const no_metadata[] = { NULL };

static struct engine *make(const struct engine_services *services)
{
	struct engine *engine = calloc(1, sizeof *engine);
	ck_assert_ptr_nonnull(engine);
	engine->services = *services;
	engine->values[1].stack = 1;
	atomic_init(&engine->snapshot.references, 1); /* never released */
	engine->snapshot.profile = (struct iaprof_profile){ .size = sizeof engine->snapshot.profile,
							    .flags = IAPROF_PROFILE_TOTAL | IAPROF_PROFILE_FINAL,
							    .frames = frames,
							    .frame_count = 2,
							    .frame_size = sizeof *frames,
							    .stacks = stacks,
							    .stack_count = 2,
							    .stack_size = sizeof *stacks,
							    .value_types = &cpu,
							    .value_type_count = 1,
							    .value_type_size = sizeof cpu,
							    .values = engine->values,
							    .value_count = 2,
							    .value_size = sizeof *engine->values,
							    .metadata = no_metadata };
	return engine;
}

static void engine_free(struct engine *engine)
{
	free(engine);
}

static int configure(struct engine *engine, const struct engine_options *options, struct error *error)
{
	engine->options = *options;
	return 0;
}

static int begin(struct engine *engine, struct error *error)
{
	return 0;
}

static void drain(struct engine *engine)
{
}

static void save(struct engine *engine, const struct engine_saving *saving)
{
	ck_assert_uint_eq(saving->stride, 1);
}

static void stop(struct engine *engine, uint64_t limit, uint64_t end)
{
	ck_assert_uint_gt(limit, 0);
	ck_assert_uint_gt(end, clock_monotonic());
}

static struct block *count_samples(struct engine *engine, const struct block *block)
{
	const struct iaprof_batch batch = block_batch(block);
	struct iaprof_profile *profile = &engine->snapshot.profile;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
		const struct iaprof_record_sample *sample = (const void *)record;
		if (record->type == IAPROF_RECORD_SYNC && !profile->begin)
			profile->begin = record->time;
		if (record->type == IAPROF_RECORD_SYNC)
			profile->end = record->time;
		for (size_t i = 0; record->type == IAPROF_RECORD_SAMPLE && i < 2; i++)
			if (!strcmp(intern_text(engine->services.intern, sample->name), programs[i])) {
				engine->values[i].value += sample->value;
				engine->values[i].count += sample->count;
			}
	}
	return NULL;
}

static struct block *finish(struct engine *engine)
{
	return NULL;
}

static void conclude(struct engine *engine)
{
	engine->options.profile(engine->options.context, &engine->snapshot, engine->options.interval > 0);
}

static struct engine_progress progress(struct engine *engine)
{
	return (struct engine_progress){ 0 };
}

static struct engine_result result(const struct engine *engine)
{
	return (struct engine_result){ .profile = &engine->snapshot.profile };
}

static void report(const struct engine *engine)
{
}

static const struct engine_functions counting_engine = {
	.make = make,
	.free = engine_free,
	.configure = configure,
	.start = begin,
	.scan = begin,
	.drain = drain,
	.save = save,
	.stop = stop,
	.read = count_samples,
	.finish = finish,
	.conclude = conclude,
	.progress = progress,
	.result = result,
	.report = report,
};

static char folder[] = "/tmp/iaprof-core-XXXXXX";

static void make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	CLEANUP_FREE char *command = format_new("rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Runs the source into the sinks capture and csv, and ring with an engine. */
static void run_source(const struct engine_functions *engine)
{
	char *arguments[] = { "iaprof",
			      "-s",
			      SOURCE TURNS_OPTION,
			      "-k",
			      CAPTURE ":output=capture",
			      "-k",
			      CSV ":rows=events,newline=lf,output=rows",
			      "-k",
			      RING ":folder=ring",
			      NULL };
	struct configuration configuration = { 0 };
	struct registry registry = { 0 };
	struct error error = { 0 };
	int count = engine ? 9 : 7;
	arguments[count] = NULL;
	ck_assert_msg(!configuration_read(&configuration, count, arguments, NULL, &error), "%s", error.text);
	struct command_result command;
	ck_assert_int_eq(run(&configuration, &(struct run_parts){ .registry = &registry, .engine = engine }, &command),
			 EXIT_STATUS_COMPLETE);
	registry_free(&registry);
	configuration_free(&configuration);
	read_capture("capture", add_record);
	check_sums("capture", KNOWN_COUNT);
	read_rows("rows");
	check_sums("rows", KNOWN_COUNT);
}

TEST(sinks_receive_the_records_of_a_run_without_an_engine)
{
	run_source(NULL);
}

TEST(sinks_receive_the_profile_of_the_engine_that_a_program_brings)
{
	run_source(&counting_engine);
	glob_t found;
	ck_assert_int_eq(glob("ring/*.iaprof", 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, 1);
	read_capture(found.gl_pathv[0], add_value);
	globfree(&found);
	check_sums("ring", 2);
}

int main(void)
{
	log_set_level(IAPROF_LOG_WARNING - 1);
	return run_all_tests(0, make_folder, remove_folder);
}
