/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the sink top: sums of tables, names cut to columns, keys, numbers. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "display_width.h"
#include "keys.h"
#include "meters.h"
#include "model.h"
#include "plugin/test_profile.h"
#include "view.h"
#include "view_text.h"
#include "../run_suite.h"

static struct test_profile profile;
static struct model model;

static void setup(void)
{
	profile = (struct test_profile){ 0 };
	model = (struct model){ 0 };
}

static void teardown(void)
{
	test_profile_free(&profile);
	model_free(&model);
}

/* The row of a table that is shown under a text, of the first value type. */
static const struct row *find(enum model_table table, const char *wanted)
{
	for (size_t i = 0; i < model.tables[table].row_count; i++) {
		const struct row *row = &model.tables[table].rows[i];
		struct text text = { 0 };
		view_text_append_row(&text, &model, table, row, 4096);
		text_append(&text, "", 1);
		bool is_it = !row->type && !strcmp(text.data, wanted);
		text_free(&text);
		if (is_it)
			return row;
	}
	return NULL;
}

static void expect(enum model_table table, const char *name, uint64_t self, uint64_t total)
{
	const struct row *row = find(table, name);
	ck_assert_msg(row != NULL, "no row \"%s\"", name);
	ck_assert_msg(row->run.self == self && row->run.total == total, "%s: %" PRIu64 " and %" PRIu64, name,
		      row->run.self, row->run.total);
}

static uint32_t frame(const struct iaprof_frame *frame)
{
	return test_profile_frame(&profile, frame);
}

#define FRAME(...) frame(&(struct iaprof_frame){ __VA_ARGS__ })

TEST(stacks_of_devices_are_told_apart)
{
	uint32_t stalls = test_profile_value_type(&profile, "gpu-stalls", "count");
	uint32_t program = FRAME(.name = "model", .kind = IAPROF_FRAME_PROCESS, .pid = 7);
	uint32_t caller = FRAME(.name = "main", .kind = IAPROF_FRAME_USER);
	uint32_t separator = FRAME(.name = "-", .kind = IAPROF_FRAME_SEPARATOR);
	uint32_t source = FRAME(.name = "tile.cl", .kind = IAPROF_FRAME_DEVICE_SOURCE);
	uint32_t kernel = FRAME(.name = "matmul", .file = "tile.cl", .line = 9, .kind = IAPROF_FRAME_DEVICE_FUNCTION);
	uint32_t inlined = FRAME(.name = "load_tile", .file = "tile.h", .line = 31,
				 .kind = IAPROF_FRAME_DEVICE_FUNCTION, .flags = IAPROF_FRAME_INLINED);
	uint32_t instruction = FRAME(.name = "send", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION);
	uint32_t producer = FRAME(.name = "mad", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION,
				  .flags = IAPROF_FRAME_PRODUCER, .offset = 8);
	uint32_t offset = FRAME(.name = "0x1a0", .kind = IAPROF_FRAME_DEVICE_OFFSET, .offset = 0x1a0);
	static const char *const reasons[] = { "sbid", "sync" };
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t reason = FRAME(.name = reasons[i], .kind = IAPROF_FRAME_STALL_REASON);
		uint32_t frames[] = { program, caller,      separator, source, kernel,
				      inlined, instruction, producer,  reason, offset };
		test_profile_value(&profile, test_profile_stack(&profile, frames, 10), stalls, 30 + i * 40);
	}
	model_add(&model, test_profile_get(&profile));
	expect(TABLE_KERNELS, "model:7          matmul", 100, 100);
	expect(TABLE_INSTRUCTIONS, "matmul+0x1a0 send tile.h:31", 100, 100);
	expect(TABLE_REASONS, "sbid", 30, 30);
	expect(TABLE_REASONS, "sync", 70, 70);
	expect(TABLE_FUNCTIONS, "load_tile [G]", 100, 100);
	expect(TABLE_FUNCTIONS, "matmul [G]", 0, 100);
	expect(TABLE_FUNCTIONS, "main", 0, 100);
	expect(TABLE_STACKS, "load_tile [G] < matmul [G] < main < model", 100, 100);
	ck_assert_uint_eq(model.tables[TABLE_STACKS].row_count, 1);
	ck_assert_uint_eq(model.tables[TABLE_CALLS].row_count, 0);
}

/* Samples were declared first: tables of devices show time, those of functions what is no device's. */
TEST(time_of_devices_is_shown_first)
{
	uint32_t stalls = test_profile_value_type(&profile, "npu-stalls", "count");
	uint32_t idle = test_profile_value_type(&profile, "gpu-idle", "nanoseconds");
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	uint32_t program = FRAME(.name = "model", .kind = IAPROF_FRAME_PROCESS, .pid = 7);
	uint32_t kernel = FRAME(.name = "matmul", .kind = IAPROF_FRAME_DEVICE_FUNCTION);
	uint32_t stack = test_profile_stack(&profile, (uint32_t[]){ program, kernel }, 2);
	struct view view = { 0 };
	profile.value_types.items[stalls].role = IAPROF_VALUE_DEVICE_SAMPLES;
	profile.value_types.items[stalls].sample_unit = "tile";
	test_profile_value(&profile, stack, stalls, 70);
	test_profile_add(&profile, "[GPU idle]", idle, 9);
	model_add(&model, test_profile_get(&profile));
	ck_assert_uint_eq(view_type_of(&view, &model, TABLE_KERNELS), stalls);
	test_profile_value(&profile, stack, time, 5);
	model_add(&model, test_profile_get(&profile));
	ck_assert_uint_eq(view_type_of(&view, &model, TABLE_KERNELS), time);
	ck_assert_uint_eq(view_type_of(&view, &model, TABLE_PROCESSES), time);
	ck_assert_uint_eq(view_type_of(&view, &model, TABLE_FUNCTIONS), time);
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	test_profile_add(&profile, "model;main", cpu, 1);
	model_add(&model, test_profile_get(&profile));
	ck_assert_uint_eq(view_type_of(&view, &model, TABLE_FUNCTIONS), cpu);
	ck_assert_str_eq(model.types[stalls].title, "NPU samples (tile-time)");
	ck_assert_str_eq(table_heading(&model, TABLE_KERNELS, stalls), "NPU KERNEL");
	ck_assert_str_eq(table_heading(&model, TABLE_KERNELS, time), "GPU KERNEL");
	ck_assert_str_eq(table_heading(&model, TABLE_KERNELS, cpu), "DEVICE KERNEL");
	ck_assert_str_eq(table_heading(&model, TABLE_FUNCTIONS, time), "FUNCTION");
	struct text rates = { 0 };
	view_text_append_rates(&rates, &model, time);
	ck_assert_ptr_nonnull(strstr(text_string(&rates), " executions/s; NPU samples (tile-time) "));
	ck_assert_ptr_nonnull(strstr(text_string(&rates), "; GPU idle time 1.8 ns/s; "));
	text_free(&rates);
}

TEST(functions_count_once_a_stack)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	test_profile_add(&profile, "sort;main;split;split;split", cpu, 8);
	test_profile_add(&profile, "sort;main;split;join", cpu, 2);
	model_add(&model, test_profile_get(&profile));
	expect(TABLE_FUNCTIONS, "split", 8, 10);
	expect(TABLE_FUNCTIONS, "join", 2, 2);
	expect(TABLE_FUNCTIONS, "main", 0, 10);
	expect(TABLE_STACKS, "split < split < split < main < sort", 8, 8);
}

TEST(intervals_add_up)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	test_profile_add(&profile, "a;f", cpu, 5);
	test_profile_lost(&profile, &(struct iaprof_lost){ .source = "source", .reason = "full", .count = 3 });
	model_add(&model, test_profile_get(&profile));
	test_profile_add(&profile, "a;g", cpu, 1);
	model_add(&model, test_profile_get(&profile));
	expect(TABLE_FUNCTIONS, "f", 10, 10);
	expect(TABLE_FUNCTIONS, "g", 1, 1);
	ck_assert_uint_eq(row_sums(find(TABLE_FUNCTIONS, "f"), false, model.intervals).self, 5);
	ck_assert_uint_eq(row_sums(find(TABLE_FUNCTIONS, "f"), false, model.intervals + 1).self, 0);
	ck_assert_uint_eq(model.types[0].run, 11);
	ck_assert_uint_eq(model.types[0].last, 6);
	ck_assert_uint_eq(model.losses[0].run, 6);
	ck_assert_uint_eq(model.losses[0].last, 3);

	/* A copy stays when more comes. */
	struct model copy;
	ck_assert(model_copy(&copy, &model));
	model_add(&model, test_profile_get(&profile));
	ck_assert_uint_eq(copy.types[0].run, 11);
	ck_assert_uint_eq(copy.tables[TABLE_FUNCTIONS].rows[0].run.total +
				  copy.tables[TABLE_FUNCTIONS].rows[1].run.total,
			  10 + 11);
	model_free(&copy);
}

TEST(what_finds_no_room_is_one_row)
{
	struct row_table table = { 0 };
	uint64_t sum = 0, others = 0;
	for (uint32_t i = 0; i < ROW_TABLE_ROWS_MAX + 1000; i++) {
		uint32_t row = row_table_find(&table, 0, (const uint32_t[]){ i, 1 }, 2);
		ck_assert_uint_ne(row, UINT32_MAX);
		row_add(&table.rows[row], 1, 1, 1);
	}
	ck_assert_uint_le(table.row_count, ROW_TABLE_ROWS_MAX + 1);
	for (size_t i = 0; i < table.row_count; i++) {
		sum += table.rows[i].run.self;
		others += table.rows[i].length ? 0 : table.rows[i].run.self;
	}
	ck_assert_uint_eq(sum, ROW_TABLE_ROWS_MAX + 1000);
	ck_assert_uint_eq(others, 1000);
	/* One that is there is still found. */
	ck_assert_uint_eq(row_table_find(&table, 0, (const uint32_t[]){ 5, 1 }, 2), 5);
	row_table_free(&table);
}

/* Whatever sources are called: those of the last place, too. */
TEST_LOOP(more_types_and_losses_than_are_kept, 0, 2)
{
	const char *source = _i ? "others" : "s";
	char names[MODEL_TYPES_MAX + 3][16], reasons[MODEL_LOSSES_MAX + 5][16];
	for (uint32_t i = 0; i < MODEL_TYPES_MAX + 3; i++) {
		snprintf(names[i], sizeof names[i], "type-%u", i);
		test_profile_value_type(&profile, names[i], "count");
		test_profile_add(&profile, "a;f", i, 1);
	}
	for (uint32_t i = 0; i < MODEL_LOSSES_MAX + 5; i++) {
		snprintf(reasons[i], sizeof reasons[i], "reason %u", i);
		test_profile_lost(&profile,
				  &(struct iaprof_lost){ .source = source, .reason = reasons[i], .count = 1 });
	}
	model_add(&model, test_profile_get(&profile));
	ck_assert_uint_eq(model.type_count, MODEL_TYPES_MAX);
	ck_assert_uint_eq(model.types_left_out, 3);
	uint64_t lost = 0;
	for (uint32_t i = 0; i < model.loss_count; i++)
		lost += model.losses[i].run;
	ck_assert_uint_eq(lost, MODEL_LOSSES_MAX + 5);
	ck_assert_uint_le(model.loss_count, MODEL_LOSSES_MAX);
}

static const struct {
	const char *name;
	unsigned columns, used;
	const char *shown;
} cuts[] = {
	{ "plain", 10, 5, "plain" },
	{ "plain", 3, 3, "pla" },
	{ "plain", 0, 0, "" },
	{ "\xe7\x81\xab\xe7\x81\xab\xe7\x81\xab", 5, 4, "\xe7\x81\xab\xe7\x81\xab" }, /* two columns each */
	{ "e\xcc\x81t\xc3\xa9", 3, 3, "e\xcc\x81t\xc3\xa9" },                         /* a mark takes none */
	{ "\xcc\x81x", 3, 1, "x" },                                                   /* but needs a letter */
	{ "x\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", 3, 1, "x\xcc\x81\xcc\x81\xcc\x81\xcc\x81" },
	{ "a\033[2Jb", 10, 6, "a?[2Jb" },
	{ "a\xff\x80z", 10, 4, "a??z" },
	{ "\xf0\x9f\x94\xa5!", 3, 3, "\xf0\x9f\x94\xa5!" }, /* an emoji */
};

TEST_LOOP(names_are_cut_to_columns, 0, sizeof cuts / sizeof *cuts)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	struct charset charset = charset_of_user();
	ck_assert(charset.utf8);
	struct text text = { 0 };
	unsigned used = columns_append(&text, &charset, cuts[_i].name, cuts[_i].columns);
	text_append(&text, "", 1);
	ck_assert_str_eq(text.data, cuts[_i].shown);
	ck_assert_uint_eq(used, cuts[_i].used);
	text_free(&text);
	charset_free(&charset);
}

static const struct {
	const char *bytes;
	size_t used;
	int key;
} sequences[] = {
	{ "q", 1, 'q' },
	{ "\t", 1, '\t' },
	{ "\x1a", 1, 26 },
	{ "\033[A", 3, KEY_UP },
	{ "\033OB", 3, KEY_DOWN },
	{ "\033[1;5C", 6, KEY_RIGHT },
	{ "\033[Z", 3, KEY_BACK_TAB },
	{ "\033[5~", 4, KEY_PAGE_UP },
	{ "\033[6~q", 4, KEY_PAGE_DOWN },
	{ "\033[4~", 4, KEY_END },
	{ "\033OP", 3, KEY_F1 },
	{ "\033OS", 3, KEY_F1 + 3 },
	{ "\033[11~", 5, KEY_F1 },
	{ "\033[15~", 5, KEY_F1 + 4 },
	{ "\033[17~", 5, KEY_F1 + 5 },
	{ "\033[21~", 5, KEY_F10 },
	{ "\033[16~", 5, KEY_NONE },
	{ "\033[17;2~", 7, KEY_F1 + 5 },
	{ "\033[[C", 4, KEY_F1 + 2 },
	{ "\033[[F", 4, KEY_NONE },
	{ "\033[[", 0, KEY_NONE },
	{ "\033[99999999999~", 14, KEY_NONE },
	{ "\033", 0, KEY_NONE },
	{ "\033[", 0, KEY_NONE },
	{ "\033[12", 0, KEY_NONE },
	{ "\033O", 0, KEY_NONE },
	{ "\033q", 1, KEY_NONE },
	{ "\033[1\033[A", 3, KEY_NONE },
	{ "\xc3\xa9", 1, KEY_NONE },
};

TEST_LOOP(keys_are_known, 0, sizeof sequences / sizeof *sequences)
{
	enum key key;
	size_t used = key_parse(sequences[_i].bytes, strlen(sequences[_i].bytes), &key);
	ck_assert_uint_eq(used, sequences[_i].used);
	ck_assert_int_eq((int)key, sequences[_i].key);
}

/* Slots of 100 ns from 1000 on. */
static void begin_meters(struct meters *meters, bool recorded, uint32_t cpus)
{
	*meters = (struct meters){ .width = 100, .recorded = recorded, .cpus = cpus, .begin = 1000 };
}

TEST(busy_time_is_spread_over_its_slots)
{
	struct meters meters;
	begin_meters(&meters, true, 4);
	struct meter *device = meters_device(&meters, 1, 7, "a device");
	ck_assert_ptr_eq(meters_device(&meters, 1, 7, "another name"), device);
	ck_assert_ptr_ne(meters_device(&meters, 2, 7, "a device of another source"), device);
	meters_add_busy(&meters, device, METER_BUSY, 1150, 1350, 100); /* 25 in 50, 50 in 100, 25 in 50 */
	meters_add_busy(&meters, device, METER_BUSY, 1400, 1500, 500); /* of several engines */
	meters_add_busy(&meters, meters_cpu(&meters), METER_BUSY, 1100, 1200, 100);
	meters_advance(&meters, 1750);
	ck_assert_uint_eq(meters_slots(&meters), 8);
	ck_assert(isnan(meter_slot(&meters, device, 0))); /* nothing is known before the first one */
	ck_assert_double_eq_tol(meter_slot(&meters, device, 1), 50, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 2), 50, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 3), 25, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 4), 100, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 5), 0, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, meters_cpu(&meters), 1), 25, 1e-9);
	ck_assert_double_eq_tol(meter_now(&meters, device), 0, 1e-9);
	ck_assert_double_eq_tol(meter_mean(&meters, device), 100, 1e-9); /* 600 ns in the 600 after the first one */
	meters.cpus = 0;
	ck_assert(isnan(meter_slot(&meters, meters_cpu(&meters), 1)));
}

TEST(jobs_are_unknown_until_they_end)
{
	struct meters meters;
	begin_meters(&meters, true, 0);
	struct meter *device = meters_device(&meters, 1, 1, "device");
	meters_add_busy(&meters, device, METER_JOBS, 1110, 1150, 40);
	meters_add_busy(&meters, device, METER_JOBS, 1390, 1400, 10);
	meters_advance(&meters, 1500);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 1), 40 / 0.9, 1e-9);
	ck_assert(isnan(meter_slot(&meters, device, 2)));
	ck_assert_double_eq_tol(meter_slot(&meters, device, 3), 10, 1e-9);
	ck_assert(isnan(meter_slot(&meters, device, 4)));
	/* A counter of the device is better evidence, and jobs do not add to it. */
	const struct iaprof_device named = { .source = "s", .name = "device", .address = "" };
	const struct iaprof_activity activity = { .devices = &named, .device_count = 1, .device_size = sizeof named };
	struct iaprof_counter counter = {
		.source = "s", .name = "x-utilization", .unit = "percent", .last = 30, .count = 1
	};
	meters_take_counter(&meters, &counter, &activity, 1450);
	meters_take_counter(&meters, &counter, &activity, 1350); /* no new value */
	meters_add_busy(&meters, device, METER_JOBS, 1400, 1500, 100);
	/* It holds for the time of a slot before it. */
	ck_assert_double_eq_tol(meter_slot(&meters, device, 3), 30, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 4), 30, 1e-9);
	ck_assert(isnan(meter_slot(&meters, device, 1)));
	counter.last = 70;
	counter.count++;
	meters_take_counter(&meters, &counter, &activity, 1500);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 4), 50, 1e-9);
	counter.unit = "count";
	counter.count = 3;
	meters_take_counter(&meters, &counter, &activity, 1250);
	ck_assert(isnan(meter_slot(&meters, device, 2)));
}

/* A recording keeps everything in wider slots, a live run the latest slots. */
TEST_LOOP(long_runs_have_room, 0, 2)
{
	struct meters meters;
	begin_meters(&meters, _i, 0);
	struct meter *device = meters_device(&meters, 1, 1, "device");
	for (uint64_t i = 0; i < 3 * METER_SLOTS; i++)
		meters_add_busy(&meters, device, METER_BUSY, 1000 + i * 100, 1100 + i * 100, 20);
	meters_advance(&meters, 1000 + 300 * METER_SLOTS + (_i ? 0 : UINT64_C(1000000000)));
	ck_assert_uint_eq(meters.width, _i ? 400 : 100);
	uint32_t slots = meters_slots(&meters);
	ck_assert_uint_le(slots, METER_SLOTS);
	ck_assert_uint_ge(slots, METER_SLOTS / 2);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 0), 20, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, slots - 1), 20, 1e-9);
	/* Times of a damaged recording. */
	meters_add_busy(&meters, device, METER_BUSY, 1000, UINT64_MAX - 1, 1);
	meters_add_busy(&meters, device, METER_BUSY, 0, 1, 1);
	meters_add_busy(&meters, device, METER_BUSY, 5, 5, 1);
	meters_advance(&meters, UINT64_MAX);
	meters_advance(&meters, 0);
	ck_assert_uint_le(meters_slots(&meters), METER_SLOTS);
}

/* The first records of several sources are not in order. */
TEST_LOOP(earlier_times_come_later, 0, 2)
{
	struct meters meters;
	begin_meters(&meters, _i, 0);
	meters.begin = 0;
	struct meter *device = meters_device(&meters, 1, 1, "device");
	meters_add_busy(&meters, device, METER_BUSY, 1000000, 1000100, 100);
	meters_add_busy(&meters, device, METER_BUSY, 999750, 999950, 20);
	meters_advance(&meters, 1000100 + (_i ? 0 : UINT64_C(1000000000)));
	ck_assert_uint_eq(meters.begin, 999700);
	ck_assert_uint_eq(meters_slots(&meters), 4);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 0), 10, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 1), 10, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 2), 5, 1e-9);
	ck_assert_double_eq_tol(meter_slot(&meters, device, 3), 100, 1e-9);
	/* Much too early: only a recording has room. */
	meters_add_busy(&meters, device, METER_BUSY, 800000, 801000, 1000);
	ck_assert_uint_eq(meters.begin < 999700, _i);
	if (_i)
		ck_assert_double_eq_tol(meter_mean(&meters, device), 100 * 1120.0 / 200100, 1e-9);
}

TEST(more_devices_than_meters)
{
	struct meters meters;
	begin_meters(&meters, false, 0);
	for (uint32_t i = 0; i < METERS_MAX; i++)
		ck_assert_ptr_nonnull(meters_device(&meters, 1, i, "device"));
	ck_assert_ptr_null(meters_device(&meters, 1, METERS_MAX, "device"));
	ck_assert_ptr_null(meters_cpu(&meters));
	meters_add_busy(&meters, NULL, METER_BUSY, 1000, 1100, 1);
}

/* Rows that differ only in the process are one, unless the user wants each. */
TEST(rows_of_processes_are_merged)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	for (uint32_t pid = 1; pid <= 3; pid++) {
		uint32_t frames[] = { FRAME(.name = "p", .kind = IAPROF_FRAME_PROCESS, .pid = pid),
				      FRAME(.name = "f", .module = "/lib/a.so", .kind = IAPROF_FRAME_USER),
				      FRAME(.name = "leaf", .module = pid < 3 ? "/lib/a.so" : "/lib/b.so",
					    .kind = IAPROF_FRAME_USER) };
		test_profile_value(&profile, test_profile_stack(&profile, frames, 3), cpu, pid * 10);
	}
	model_add(&model, test_profile_get(&profile));
	struct view view = { .table = TABLE_FUNCTIONS, .of_run = true };
	size_t count;
	struct view_row *rows = view_rows(&view, &model, TABLE_FUNCTIONS, 0, &count);
	ck_assert_uint_eq(count, 4); /* leaf twice, f, p */
	ck_assert_uint_eq(rows[0].sums.self, 30);
	ck_assert_uint_eq(rows[1].sums.self, 30);
	ck_assert_uint_eq(rows[0].has_pids + rows[1].has_pids, 1);
	ck_assert(!rows[0].has_programs && !rows[1].has_programs);
	ck_assert_uint_eq(rows[2].sums.total, 60);
	free(rows);
	view.by_process = true;
	strcpy(view.filter, "B.SO");
	rows = view_rows(&view, &model, TABLE_FUNCTIONS, 0, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(rows[0].row->key[KEY_PID], 3);
	free(rows);
	view.filter[0] = '\0';
	view.sort = SORT_PID;
	rows = view_rows(&view, &model, TABLE_PROCESSES, 0, &count);
	ck_assert_uint_eq(count, 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(rows[i].row->key[KEY_PID], i + 1);
	free(rows);
	expect(TABLE_PROCESSES, "p:2", 20, 20);
}

/* Many processes leave room for functions that come later, and nothing is lost. */
TEST(many_processes_leave_room)
{
	enum { PROCESSES = 20000 };
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t first = FRAME(.name = "first", .kind = IAPROF_FRAME_USER);
	uint32_t late = FRAME(.name = "late", .kind = IAPROF_FRAME_USER);
	for (uint32_t pid = 1; pid <= PROCESSES; pid++) {
		uint32_t frames[] = { FRAME(.name = "p", .kind = IAPROF_FRAME_PROCESS, .pid = pid),
				      pid > PROCESSES - 10 ? late : first };
		test_profile_value(&profile, test_profile_stack(&profile, frames, 2), cpu, 1);
	}
	model_add(&model, test_profile_get(&profile));
	struct view view = { .table = TABLE_FUNCTIONS, .of_run = true };
	size_t count;
	struct view_row *rows = view_rows(&view, &model, TABLE_FUNCTIONS, 0, &count);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(rows[0].sums.self, PROCESSES - 10);
	ck_assert_uint_eq(rows[1].sums.self, 10);
	ck_assert_uint_eq(rows[2].sums.total, PROCESSES);
	ck_assert_uint_lt(model.tables[TABLE_FUNCTIONS].row_count, ROW_TABLE_ROWS_MAX);
	free(rows);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
