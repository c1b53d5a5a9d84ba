/* SPDX-License-Identifier: Apache-2.0 */
/* Sink top: the hottest kernels, functions and stacks, live on the terminal or as text for each interval. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "batch.h"
#include "live.h"
#include "terminal.h"
#include "view_text.h"

/* Once a second, as in similar programs. */
#define INTERVAL UINT64_C(1000000000)

enum colour { COLOUR_AUTO, COLOUR_YES, COLOUR_NO };

struct top {
	bool batch;
	bool since_start;
	uint64_t table; /* 0: selected automatically; otherwise 1 + enum model_table */
	uint64_t count;
	uint64_t colour;

	struct live *live;            /* NULL: none */
	struct model model;           /* for text */
	struct iaprof_output *output; /* text output */
	struct usage_records usage;
};

static const char *const colours[] = { "auto", "yes", "no", NULL };

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct top, batch, BOOL, "batch", "no",
		      "Write the tables of each interval as text, for files and pipes"),
	IAPROF_OPTION(struct top, table, CHOICE, "table", "auto",
		      "Initial table; auto: device kernels, NPU driver calls or functions; with batch=yes, all tables",
		      .choices = table_choices),
	IAPROF_OPTION(struct top, since_start, BOOL, "since-start", "no",
		      "Show totals since the start instead of the last interval"),
	IAPROF_OPTION(struct top, count, UINT, "count", "20", "Rows per table with batch=yes", .minimum = 1,
		      .maximum = 1000000),
	IAPROF_OPTION(struct top, colour, CHOICE, "colour", "auto",
		      "Use colours; auto: if the terminal supports them and NO_COLOR is not set", .choices = colours),
};

static int top_configure(const struct iaprof_host *host, void *instance)
{
	host->default_interval(host, INTERVAL);
	host->request(host, IAPROF_REQUEST_ACTIVITY | IAPROF_REQUEST_THREADS);
	return 0;
}

static int top_prepare(const struct iaprof_host *host, void *instance)
{
	const struct top *top = instance;
	if (top->batch)
		return 0;
	if (!host->output_is_single(host))
		return host->fail(host, EINVAL, "the live view requires a terminal (use batch=yes to write a file)");
	const char *refusal = terminal_refusal();
	return refusal ? host->fail(host, ENOTTY, "%s", refusal) : 0;
}

/* Monochrome terminals have names such as vt100, vt220-w, xterm-mono and linux-m. */
static bool has_colour(const struct top *top)
{
	const char *wish = getenv("NO_COLOR"), *type = getenv("TERM");
	if (top->colour != COLOUR_AUTO)
		return top->colour == COLOUR_YES;
	const char *variant = type ? strrchr(type, '-') : NULL;
	return !(wish && *wish) && type && strncmp(type, "vt", 2) != 0 &&
	       !(variant && (!strcmp(variant, "-mono") || !strcmp(variant, "-m")));
}

static bool is_recorded(const struct iaprof_host *host)
{
	return host->target(host)->flags & IAPROF_TARGET_RECORDED;
}

static struct view first_view(const struct top *top)
{
	return (struct view){ .table = top->table ? (enum model_table)(top->table - 1) : TABLE_FUNCTIONS,
			      .table_chosen = top->table,
			      .of_run = top->since_start };
}

static int top_start(const struct iaprof_host *host, void *instance)
{
	struct top *top = instance;
	if (top->batch) {
		model_begin(&top->model, host->clock(host));
		meters_init(&top->model.meters, host->target(host)->interval, is_recorded(host));
		return 0;
	}
	struct live_options live = { .view = first_view(top),
				     .colour = has_colour(top),
				     .recorded = is_recorded(host) };
	/* A recording is shown as a whole, not just its last second. */
	live.view.of_run |= live.recorded;
	top->live = live_start(host, &live);
	return top->live ? 0 : -EIO;
}

static int write_text(const struct iaprof_host *host, struct top *top, const struct iaprof_profile *profile)
{
	if (!top->output && !(top->output = host->output_open(host, NULL, 0)))
		return -EIO;
	struct text text = { 0 };
	struct view view = first_view(top);
	model_add(&top->model, profile);
	model_measure(&top->model, host->clock(host));
	batch_append(&text, &top->model, &view, top->count, is_recorded(host));
	int result = text_write(&text, host, top->output);
	text_free(&text);
	return result ? result : host->output_flush(host, top->output);
}

static int top_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct top *top = instance;
	if (top->batch)
		return write_text(host, top, profile);
	live_add(top->live, profile);
	return 0;
}

static int top_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct top *top = instance;
	if (top->live)
		live_records(top->live, &top->usage, batch);
	else if (usage_records_define(&top->usage, batch))
		usage_records_add(&top->usage, &top->model, batch);
	return 0;
}

static int top_finish(const struct iaprof_host *host, void *instance)
{
	struct top *top = instance;
	live_end(top->live, is_recorded(host));
	top->live = NULL;
	if (top->batch && !top->output && !(top->output = host->output_open(host, NULL, 0)))
		return -EIO;
	return top->output ? host->output_close(host, top->output) : 0;
}

static void top_destroy(const struct iaprof_host *host, void *instance)
{
	struct top *top = instance;
	live_end(top->live, false);
	model_free(&top->model);
	usage_records_free(&top->usage);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "txt",
	.prepare = top_prepare,
	.start = top_start,
	.finish = top_finish,
	.profile = top_profile,
	.records = top_records,
};

static const struct iaprof_plugin top_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS,
	.name = "top",
	.version = PLUGIN_VERSION,
	.description = "Live view of the hottest kernels, functions and stacks on the terminal",
	.instance_size = sizeof(struct top),
	.sink = &operations,
	.configure = top_configure,
	.destroy = top_destroy,
};

IAPROF_REGISTER_PLUGIN(top_plugin)
