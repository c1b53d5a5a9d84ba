/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink to start from: writes the functions with the largest values as text, one per line, innermost frames only.
 * It demonstrates the parts of a profile, an output, and sanitizing names for the format. Copy it, rename it, and write
 * your format.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iaprof/iaprof.h>

struct hottest {
	uint64_t count;
	struct iaprof_output *output; /* NULL: not open */
};

struct row {
	uint32_t frame;
	uint32_t value_type;
	uint64_t value;
};

static const struct iaprof_option options[] = {
	{ .name = "count",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct hottest, count),
	  .default_value = "10",
	  .help = "Number of functions written per value type",
	  .minimum = 1,
	  .maximum = 1000000 },
};

static int row_compare_frame(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	if (left->value_type != right->value_type)
		return left->value_type < right->value_type ? -1 : 1;
	return left->frame < right->frame ? -1 : left->frame > right->frame;
}

static int row_compare_value(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	if (left->value_type != right->value_type)
		return left->value_type < right->value_type ? -1 : 1;
	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	return row_compare_frame(a, b);
}

/* Sums the values by innermost frame. Returns the number of rows. */
static size_t add_up(const struct iaprof_profile *profile, struct row *rows)
{
	size_t count = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		rows[i] = (struct row){ stack->frames[stack->frame_count - 1], value->value_type, value->value };
	}
	qsort(rows, profile->value_count, sizeof *rows, row_compare_frame);
	for (size_t i = 0; i < profile->value_count; i++)
		if (count && row_compare_frame(&rows[count - 1], &rows[i]) == 0)
			rows[count - 1].value += rows[i].value;
		else
			rows[count++] = rows[i];
	qsort(rows, count, sizeof *rows, row_compare_value);
	return count;
}

/* Writes a name without characters that would break a line: other users' programs chose it. */
static int write_name(const struct iaprof_host *host, struct iaprof_output *output, const char *name)
{
	for (; *name; name++) {
		char byte = (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name;
		int result = host->output_write(host, output, &byte, 1);
		if (result < 0)
			return result;
	}
	return 0;
}

static int write_row(const struct iaprof_host *host, struct iaprof_output *output, const struct iaprof_profile *profile,
		     const struct row *row)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(profile, row->value_type);
	char text[64];
	int length = snprintf(text, sizeof text, "%20" PRIu64 " ", row->value);
	int result = host->output_write(host, output, text, (size_t)length);
	if (result == 0)
		result = write_name(host, output, type->name);
	if (result == 0)
		result = host->output_write(host, output, " ", 1);
	if (result == 0)
		result = write_name(host, output, type->unit);
	if (result == 0)
		result = host->output_write(host, output, "  ", 2);
	if (result == 0)
		result = write_name(host, output, iaprof_profile_frame(profile, row->frame)->name);
	return result == 0 ? host->output_write(host, output, "\n", 1) : result;
}

/* Called once, with the values of the whole run: this sink does not support intervals. */
static int profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct hottest *hottest = instance;
	struct row *rows = calloc(profile->value_count ? profile->value_count : 1, sizeof *rows);
	if (!rows)
		return host->fail(host, ENOMEM, "no memory for %zu values", profile->value_count);
	size_t count = add_up(profile, rows);
	int result = 0;
	hottest->output = host->output_open(host, NULL, 0);
	if (!hottest->output)
		result = -EIO; /* output_open() has reported the reason */
	uint64_t written = 0;
	for (size_t i = 0; i < count && result == 0; i++) {
		if (i && rows[i].value_type != rows[i - 1].value_type)
			written = 0;
		if (written++ < hottest->count)
			result = write_row(host, hottest->output, profile, &rows[i]);
	}
	free(rows);
	return result;
}

static int finish(const struct iaprof_host *host, void *instance)
{
	struct hottest *hottest = instance;
	struct iaprof_output *output = hottest->output;
	hottest->output = NULL;
	return output ? host->output_close(host, output) : 0;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "txt",
	.finish = finish,
	.profile = profile,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.name = "hottest",
	.version = "1.0",
	.description = "Hottest functions of each value type, as text",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct hottest),
	.sink = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
