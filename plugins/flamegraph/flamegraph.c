/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink flamegraph: one page of HTML with everything in it, which a browser opens without a network, or a picture of it
 * as SVG.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "common/stack_text.h"
#include "common/value_choice.h"
#include "npu_events.h"
#include "page.h"
#include "page_code.h"
#include "page_data.h"
#include "page_names.h"
#include "page_text.h"
#include "stack_tree.h"
#include "svg.h"

enum format { FORMAT_HTML, FORMAT_SVG };

struct flamegraph {
	uint64_t format;   /* enum format */
	const char *title; /* NULL: "iaprof" */
	const char *value; /* name of a value type, NULL: the best one */
	struct page_heatmap heatmap;
	const char *sources; /* as in source_files_open() */
	struct stack_text_options text;

	struct definitions names; /* of a page: the views share them */
	struct npu_events npu;
	struct page_code code; /* of devices */
};

static const char *const formats[] = { "html", "svg", NULL };

static const struct iaprof_option options[] = {
	{ .name = "format",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct flamegraph, format),
	  .default_value = "html",
	  .choices = formats,
	  .help = "html: a page with all value types, to zoom and search; svg: a picture of one, for documents" },
	{ .name = "value",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct flamegraph, value),
	  .help = "the value type that is shown first, or in the picture, such as cpu; without it a device's" },
	{ .name = "title",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct flamegraph, title),
	  .help = "what the page is called" },
	{ .name = "row",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct flamegraph, heatmap.row),
	  .default_value = "20ms",
	  .maximum = 60000000000u,
	  .help = "the time that a cell of the heatmap stands for, and how exactly a part of the run can be chosen; "
		  "0: no heatmap" },
	{ .name = "column",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct flamegraph, heatmap.column),
	  .default_value = "1s",
	  .minimum = 10000000u,
	  .maximum = 3600000000000u,
	  .help = "the time that a column of the heatmap stands for; the page can change it" },
	{ .name = "lines",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct flamegraph, text.lines),
	  .default_value = "no",
	  .help = "tells source lines of a function apart, and shows inlined functions as frames, from DWARF" },
	{ .name = "blame",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct flamegraph, text.blame),
	  .default_value = "waiter",
	  .choices = stack_text_blame_choices,
	  .help = "producer: puts under a device instruction that waits for another one that one" },
	{ .name = "sources",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct flamegraph, sources),
	  .help = "folders, separated by :, from which the page embeds source files of GPU code; yes: files at their "
		  "recorded paths that all users can read (default for live runs); no: none" },
};

static int flamegraph_configure(const struct iaprof_host *host, void *instance)
{
	const struct flamegraph *flamegraph = instance;
	stack_text_request(&flamegraph->text, host);
	if (flamegraph->format == FORMAT_HTML && flamegraph->heatmap.row && IAPROF_HOST_HAS(host, request_times))
		host->request_times(host, flamegraph->heatmap.row);
	if (flamegraph->format == FORMAT_HTML)
		host->request(host, IAPROF_REQUEST_LISTINGS);
	else if (flamegraph->sources)
		return host->fail(host, EINVAL, "sources= is for format=html: leave it out");
	return 0;
}

static int flamegraph_prepare(const struct iaprof_host *host, void *instance)
{
	struct flamegraph *flamegraph = instance;
	flamegraph->npu.definitions = flamegraph->code.definitions = &flamegraph->names;
	return source_files_open(&flamegraph->code.sources.files, host, flamegraph->sources);
}

static int flamegraph_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct flamegraph *flamegraph = instance;
	if (flamegraph->format != FORMAT_HTML)
		return 0;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		if (page_names_take(&flamegraph->names, record))
			return host->fail(host, ENOMEM, "not enough memory for names");
		if (page_code_take(&flamegraph->code, record))
			return host->fail(host, ENOMEM, "not enough memory for the instructions of devices");
		if (!npu_events_take(&flamegraph->npu, record))
			return host->fail(host, ENOMEM, "not enough memory for jobs and calls");
	}
	return 0;
}

/* The page around the data, in which the data cannot end its element: base64 has no '<'. */
static void page_append(struct text *text, const struct stack_tree *tree, const struct page_choices *choices)
{
	struct text data = { 0 };
	page_data_append(&data, tree, choices);
	text->failed |= data.failed;
	text_append(text, (const char *)page_begin, sizeof page_begin);
	if (!text->failed)
		page_text_append(text, data.data, data.size);
	text_append(text, (const char *)page_end, sizeof page_end);
	text_free(&data);
}

static int flamegraph_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct flamegraph *flamegraph = instance;
	struct stack_tree tree;
	struct text text = { 0 };
	struct page_choices choices = { .title = flamegraph->title,
					.heatmap = flamegraph->heatmap,
					.npu = &flamegraph->npu,
					.code = &flamegraph->code };
	if (profile->value_type_count > PAGE_VALUE_TYPES_MAX && flamegraph->format == FORMAT_HTML)
		host->log(host, IAPROF_LOG_WARNING, "%zu value types, of which the page has the first %u",
			  profile->value_type_count, PAGE_VALUE_TYPES_MAX);
	choices.value_type =
		flamegraph->value ? value_type_find(host, profile, flamegraph->value) : value_type_best(profile);
	if (flamegraph->value && choices.value_type == VALUE_TYPE_NONE)
		return -EINVAL;
	int result = stack_tree_make(&tree, profile, &flamegraph->text);
	if (result) {
		host->fail(host, result, "not enough memory for %zu stacks", profile->value_count);
	} else {
		if (flamegraph->format == FORMAT_SVG)
			svg_append(&text, &tree, choices.value_type, flamegraph->title);
		else
			page_append(&text, &tree, &choices);
		result = text_write_whole(&text, host, NULL);
	}
	stack_tree_free(&tree);
	text_free(&text);
	return result;
}

/* Each page is complete when profile() returns. */
static int flamegraph_finish(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static void flamegraph_destroy(const struct iaprof_host *host, void *instance)
{
	struct flamegraph *flamegraph = instance;
	(void)host;
	npu_events_free(&flamegraph->npu);
	page_code_free(&flamegraph->code);
	definitions_free(&flamegraph->names);
}

static const struct iaprof_plugin flamegraph_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof flamegraph_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_DIFFERENCES,
	.option_size = sizeof(struct iaprof_option),
	.name = "flamegraph",
	.version = PLUGIN_VERSION,
	.description = "a page with a flame graph, for any browser",
	.extension = "html",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct flamegraph),
	.configure = flamegraph_configure,
	.destroy = flamegraph_destroy,
	.prepare = flamegraph_prepare,
	.finish = flamegraph_finish,
	.records = flamegraph_records,
	.profile = flamegraph_profile,
};

IAPROF_REGISTER_PLUGIN(flamegraph_plugin)
