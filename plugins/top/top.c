/* SPDX-License-Identifier: Apache-2.0 */
/* Sink top: what is hottest, live on the terminal, or as text for each interval. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "batch.h"
#include "live.h"
#include "terminal.h"
#include "wording.h"

/* As other programs of this kind: once a second. */
#define INTERVAL UINT64_C(1000000000)

enum colour { COLOUR_AUTO, COLOUR_YES, COLOUR_NO };

struct top {
	bool batch;
	bool since_start;
	uint64_t table; /* 0: the best one; else 1 + enum model_table */
	uint64_t count;
	uint64_t colour;

	struct live *live;            /* NULL: none */
	struct model model;           /* for text */
	struct iaprof_output *output; /* of text */
};

static const char *const tables[] = {
	"auto", "kernels", "instructions", "reasons", "functions", "stacks", "calls", NULL
};
static const char *const colours[] = { "auto", "yes", "no", NULL };

static const struct iaprof_option options[] = {
	{ .name = "batch",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct top, batch),
	  .default_value = "no",
	  .help = "writes the tables of each interval as text, for files and pipes" },
	{ .name = "table",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct top, table),
	  .default_value = "auto",
	  .choices = tables,
	  .help = "the table that is shown first; auto: kernels of a GPU, calls of an NPU, or functions; all with "
		  "batch=yes" },
	{ .name = "since-start",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct top, since_start),
	  .default_value = "no",
	  .help = "shows sums since the start at first, not those of the last interval" },
	{ .name = "count",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct top, count),
	  .default_value = "20",
	  .minimum = 1,
	  .maximum = 1000000,
	  .help = "rows of each table with batch=yes" },
	{ .name = "colour",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct top, colour),
	  .default_value = "auto",
	  .choices = colours,
	  .help = "colours on the terminal; auto: unless NO_COLOR is set or TERM is one without" },
};

static int top_configure(const struct iaprof_host *host, void *instance)
{
	(void)instance;
	if (!IAPROF_HOST_HAS(host, screen_release))
		return host->fail(host, ENOSYS, "this iaprof is too old for the sink top: update it");
	host->default_interval(host, INTERVAL);
	return 0;
}

static int top_prepare(const struct iaprof_host *host, void *instance)
{
	const struct top *top = instance;
	if (top->batch)
		return 0;
	if (!host->output_is_single(host))
		return host->fail(host, EINVAL, "the live view is for a terminal: a file gets text with batch=yes");
	const char *refusal = terminal_refusal();
	return refusal ? host->fail(host, ENOTTY, "%s", refusal) : 0;
}

/* Terminals of one colour have names as vt100, vt220-w, xterm-mono, linux-m. */
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
		return 0;
	}
	struct live_options live = { .view = first_view(top),
				     .colour = has_colour(top),
				     .recorded = is_recorded(host) };
	/* Of a recording all of it is wanted, not what happened to be in its last second. */
	live.view.of_run |= live.recorded;
	top->live = live_start(host, &live);
	return top->live ? 0 : -EIO;
}

static int write_text(const struct iaprof_host *host, struct top *top, const struct iaprof_profile *profile)
{
	if (!top->output && !(top->output = host->output_open(host, NULL)))
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

static int top_finish(const struct iaprof_host *host, void *instance)
{
	struct top *top = instance;
	live_end(top->live, is_recorded(host));
	top->live = NULL;
	if (top->batch && !top->output && !(top->output = host->output_open(host, NULL)))
		return -EIO;
	return top->output ? host->output_close(host, top->output) : 0;
}

static void top_destroy(const struct iaprof_host *host, void *instance)
{
	struct top *top = instance;
	(void)host;
	live_end(top->live, false);
	model_free(&top->model);
}

static const struct iaprof_plugin top_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof top_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS,
	.option_size = sizeof(struct iaprof_option),
	.name = "top",
	.version = PLUGIN_VERSION,
	.description = "a live view of what is hottest, on the terminal",
	.extension = "txt",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct top),
	.configure = top_configure,
	.prepare = top_prepare,
	.start = top_start,
	.finish = top_finish,
	.destroy = top_destroy,
	.profile = top_profile,
};

IAPROF_REGISTER_PLUGIN(top_plugin)
