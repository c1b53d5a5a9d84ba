// SPDX-License-Identifier: GPL-2.0-only
/* Lines `row ...`: keys with values, split over as many rows as 8-bit counters need, on every Xe-core that is named. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "scenario.h"

struct row_line {
	DECLARE_BITMAP(cores, XE_MAX_CORES);
	u64 numbers[STALL_REASON_COUNT];
	u64 address;
	u64 time;
	u64 gt;
	u64 ex_id;
	u64 end_flag;
	bool has_address, has_gt, has_cores;
};

static int reason_of(const char *name)
{
	for (int reason = 0; reason < STALL_REASON_COUNT; reason++)
		if (!strcmp(name, stall_reason_names[reason]))
			return reason;
	return -1;
}

static int parse_value(struct scenario_writer *writer, struct row_line *line, const struct row_layout *layout,
		       const char *key, const char *value)
{
	int reason = reason_of(key);
	int length = strlen(value);

	if (!strcmp(key, "at")) {
		if (scenario_parse_time(value, &line->time))
			return scenario_error(writer, "row: '%*pE' is not a time like 10us", length, value);
	} else if (!strcmp(key, "gt")) {
		if (kstrtou64(value, 10, &line->gt) || line->gt >= XE_MAX_GT)
			return scenario_error(writer, "row: '%*pE' is not the number of a GT", length, value);
		line->has_gt = true;
	} else if (!strcmp(key, "core")) {
		if (bitmap_parselist(value, line->cores, XE_MAX_CORES) || bitmap_empty(line->cores, XE_MAX_CORES))
			return scenario_error(writer, "row: '%*pE' is not a list of Xe-cores", length, value);
		line->has_cores = true;
	} else if (!strcmp(key, "address")) {
		if (kstrtou64(value, 0, &line->address))
			return scenario_error(writer, "row: '%*pE' is not an address", length, value);
		line->has_address = true;
	} else if (!strcmp(key, "ex-id") || !strcmp(key, "end-flag")) {
		bool is_ex_id = !strcmp(key, "ex-id");

		if (layout->ex_id == XE_NO_FIELD)
			return scenario_error(writer, "row: layout %s has no %s", layout->name, key);
		if (kstrtou64(value, 10, is_ex_id ? &line->ex_id : &line->end_flag) || line->ex_id > 7 ||
		    line->end_flag > 1)
			return scenario_error(writer, "row: %s: '%*pE' does not fit", key, length, value);
	} else if (reason >= 0) {
		if (layout->counter[reason] == XE_NO_FIELD)
			return scenario_error(writer, "row: layout %s has no %s", layout->name, key);
		if (kstrtou64(value, 10, &line->numbers[reason]) ||
		    line->numbers[reason] > (u64)SCENARIO_ROWS_MAX * XE_COUNTER_MAX)
			return scenario_error(writer, "row: %s: '%*pE' is not a number from 0 to %u", key, length,
					      value, SCENARIO_ROWS_MAX * XE_COUNTER_MAX);
	} else {
		return scenario_error(writer, "row: unknown word '%*pE'", (int)strlen(key), key);
	}
	return 0;
}

static int check_line(struct scenario_writer *writer, const struct row_line *line, const struct row_layout *layout)
{
	const struct scenario *scenario = writer->scenario;
	const struct xe_gt_config *gt = &scenario->platform.gt[line->gt];
	DECLARE_BITMAP(cores, XE_MAX_CORES);

	if (!line->has_gt || !line->has_cores || !line->has_address)
		return scenario_error(writer, "row: gt, core and address are wanted");
	if (!gt->present)
		return scenario_error(writer, "row: there is no GT %llu", line->gt);
	gt_config_cores(gt, cores);
	if (!bitmap_subset(line->cores, cores, XE_MAX_CORES))
		return scenario_error(writer, "row: GT %llu has no such Xe-core", line->gt);
	if (!row_layout_holds_address(layout, line->address))
		return scenario_error(writer, "row: address 0x%llx is not a multiple of 8 below 2 to the power of %u",
				      line->address, layout->address_bits + 3);
	if (scenario->row_count && line->time < scenario->rows[scenario->row_count - 1].time)
		return scenario_error(writer, "row: an earlier time than the row's before");
	return 0;
}

static int make_room(struct scenario *scenario, u32 wanted)
{
	struct scenario_row *rows;
	u32 room = max(scenario->row_room, 64u);

	if (wanted <= scenario->row_room)
		return 0;
	while (room < wanted)
		room *= 2;
	rows = kvcalloc(room, sizeof(*rows), GFP_KERNEL);
	if (!rows)
		return -ENOMEM;
	if (scenario->row_count)
		memcpy(rows, scenario->rows, scenario->row_count * sizeof(*rows));
	kvfree(scenario->rows);
	scenario->rows = rows;
	scenario->row_room = room;
	return 0;
}

/* How many rows the largest number needs. */
static u64 rows_needed(const struct row_line *line)
{
	u64 needed = 1;

	for (int reason = 0; reason < STALL_REASON_COUNT; reason++)
		needed = max(needed, DIV_ROUND_UP_ULL(line->numbers[reason], XE_COUNTER_MAX));
	return needed;
}

static void add_row(struct scenario *scenario, const struct row_line *line, const struct row_layout *layout,
		    unsigned int core, u64 part)
{
	struct row_values values = { .address = line->address, .ex_id = line->ex_id, .end_flag = line->end_flag };
	struct scenario_row *row = &scenario->rows[scenario->row_count++];

	for (int reason = 0; reason < STALL_REASON_COUNT; reason++) {
		u64 before = part * XE_COUNTER_MAX;
		u64 number = line->numbers[reason];

		values.counters[reason] = number > before ? min_t(u64, number - before, XE_COUNTER_MAX) : 0;
	}
	memcpy(row->counters, values.counters, sizeof(row->counters));
	row->time = line->time;
	row->address = line->address;
	row->gt = line->gt;
	row->core = core;
	row_layout_encode(layout, &values, row->bytes);
}

int scenario_parse_row(struct scenario_writer *writer, char **fields)
{
	struct scenario *scenario = writer->scenario;
	const struct row_layout *layout = platform_row_layout(&scenario->platform);
	struct row_line line = {};
	unsigned int core;
	u64 parts, count;
	char *key, *value;
	int err;

	if (!layout)
		return scenario_error(writer, "row: platform %s has no EU stall sampling", scenario->platform.name);
	if (scenario->row_count)
		line.time = scenario->rows[scenario->row_count - 1].time;
	while ((key = strsep(fields, " \t"))) {
		if (!*key)
			continue;
		do
			value = strsep(fields, " \t");
		while (value && !*value);
		if (!value)
			return scenario_error(writer, "row: '%*pE' has no value", (int)strlen(key), key);
		err = parse_value(writer, &line, layout, key, value);
		if (err)
			return err;
	}
	err = check_line(writer, &line, layout);
	if (err)
		return err;
	parts = rows_needed(&line);
	count = parts * bitmap_weight(line.cores, XE_MAX_CORES);
	if (count > SCENARIO_ROWS_MAX - scenario->row_count)
		return scenario_error(writer, "row: more than %u rows", SCENARIO_ROWS_MAX);
	err = make_room(scenario, scenario->row_count + count);
	if (err)
		return err;
	for (u64 part = 0; part < parts; part++)
		for_each_set_bit(core, line.cores, XE_MAX_CORES) add_row(scenario, &line, layout, core, part);
	return 0;
}
