/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink flamegraph: a self-contained HTML page, which a browser opens without network access, or an SVG image.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "stacks/missing_spans.h"
#include "stacks/stack_text.h"
#include "stacks/value_choice.h"
#include "page.h"
#include "page_code.h"
#include "page_data.h"
#include "page_text.h"
#include "stack_tree.h"
#include "svg.h"

enum format { FORMAT_HTML, FORMAT_SVG };

struct flamegraph {
	uint64_t format;   /* enum format */
	const char *title; /* NULL: "iaprof" */
	const char *value; /* name of a value type, NULL: value_type_best() */
	struct page_heatmap heatmap;
	const char *sources; /* as in source_files_open() */
	struct stack_text_options text;

	struct page_code code; /* device code */
};

static const char *const formats[] = { "html", "svg", NULL };

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct flamegraph, format, CHOICE, "format", "html",
		      "html: interactive page with all value types; svg: image of one value type", .choices = formats),
	IAPROF_OPTION(struct flamegraph, value, STRING, "value", NULL,
		      "Value type shown first, or in the image, such as cpu; by default a device's"),
	IAPROF_OPTION(struct flamegraph, title, STRING, "title", NULL, "Title of the page"),
	IAPROF_OPTION(struct flamegraph, heatmap.row, DURATION, "row", "20ms",
		      "Time per cell of the heatmap, which is the resolution of time selections; 0: no heatmap",
		      .maximum = 60000000000u),
	IAPROF_OPTION(struct flamegraph, heatmap.column, DURATION, "column", "1s",
		      "Time per column of the heatmap; by default, short runs have narrower columns",
		      .minimum = 10000000u, .maximum = 3600000000000u),
	IAPROF_OPTION(struct flamegraph, text.lines, BOOL, "lines", "no",
		      "Split functions by source line and show inlined functions, which a page can do later, too"),
	STACK_TEXT_THREADS_OPTION(struct flamegraph, text.threads),
	IAPROF_OPTION(struct flamegraph, text.spans, BOOL, "spans", "no",
		      "List the spans of traces that threads worked on, which the page can show one by one"),
	IAPROF_OPTION(struct flamegraph, text.blame, CHOICE, "blame", "waiter",
		      "producer: show below a waiting device instruction the instruction that it waits for",
		      .choices = stack_text_blame_choices),
	IAPROF_OPTION(struct flamegraph, sources, STRING, "sources", NULL,
		      "Embed source files of GPU code and of CPU lines from these folders, separated by ':'; yes: "
		      "world-readable files at their recorded paths (default for live runs); no: none"),
};

static int flamegraph_configure(const struct iaprof_host *host, void *instance)
{
	struct flamegraph *flamegraph = instance;
	flamegraph->code.launches.use_spans = flamegraph->text.spans;
	flamegraph->text.inlined = flamegraph->format == FORMAT_HTML;
	stack_text_request(&flamegraph->text, host);
	if (flamegraph->format == FORMAT_HTML && flamegraph->heatmap.row)
		host->request_times(host, flamegraph->heatmap.row);
	if (flamegraph->format == FORMAT_HTML)
		host->request(host, IAPROF_REQUEST_LISTINGS | IAPROF_REQUEST_ACTIVITY | IAPROF_REQUEST_THREADS);
	else if (flamegraph->sources || flamegraph->text.spans)
		return host->fail(host, EINVAL, "%s= requires format=html", flamegraph->sources ? "sources" : "spans");
	return 0;
}

static int flamegraph_prepare(const struct iaprof_host *host, void *instance)
{
	struct flamegraph *flamegraph = instance;
	return source_files_open(&flamegraph->code.sources.files, host, flamegraph->sources);
}

static int flamegraph_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct flamegraph *flamegraph = instance;
	if (flamegraph->format != FORMAT_HTML)
		return 0;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		if (page_code_take(&flamegraph->code, record))
			return host->fail(host, ENOMEM, "out of memory for device instructions");
	}
	return 0;
}

/* Writes the page around the data. The data cannot close their element: base64 has no '<'. */
static void page_append(struct text *text, const struct stack_tree *tree, const struct page_choices *choices)
{
	struct text data = { 0 };
	page_data_append(&data, tree, choices);
	text->failed |= data.failed;
	text_append(text, (const char *)page_begin, sizeof page_begin);
	if (!text->failed)
		page_text_append(text, data.data, data.size);
	text_append(text, (const char *)page_end, sizeof page_end);
	if (tree->origins.span_names.names.entries.count || choices->code->launches.has_spans)
		text_append(text, (const char *)page_optional, sizeof page_optional);
	text_append(text, (const char *)page_rest, sizeof page_rest);
	text_free(&data);
}

static int flamegraph_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct flamegraph *flamegraph = instance;
	struct stack_tree tree;
	struct text text = { 0 };
	struct page_choices choices = { .title = flamegraph->title,
					.threads = stack_text_threads_choices[flamegraph->text.threads],
					.lines = flamegraph->text.lines,
					.heatmap = flamegraph->heatmap,
					.code = &flamegraph->code };
	if (flamegraph->text.spans && !flamegraph->code.launches.has_spans)
		missing_spans_report(host, profile);
	if (profile->value_type_count > PAGE_VALUE_TYPES_MAX && flamegraph->format == FORMAT_HTML)
		host->log(host, IAPROF_LOG_WARNING, "%zu value types (the page has the first %u)",
			  profile->value_type_count, PAGE_VALUE_TYPES_MAX);
	choices.value_type =
		flamegraph->value ? value_type_find(host, profile, flamegraph->value) : value_type_best(profile);
	if (flamegraph->value && choices.value_type == VALUE_TYPE_NONE)
		return -EINVAL;
	int result = stack_tree_make(&tree, profile, &flamegraph->text, flamegraph->format == FORMAT_HTML);
	if (result) {
		host->fail(host, result, "out of memory for %zu stacks", profile->value_count);
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

static void flamegraph_destroy(const struct iaprof_host *host, void *instance)
{
	struct flamegraph *flamegraph = instance;
	(void)host;
	page_code_free(&flamegraph->code);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "html",
	.prepare = flamegraph_prepare,
	.finish = output_is_finished,
	.records = flamegraph_records,
	.profile = flamegraph_profile,
};

static const struct iaprof_plugin flamegraph_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_DIFFERENCES | IAPROF_PLUGIN_DEFAULT_OF_REPLAY | IAPROF_PLUGIN_DEFAULT_OF_EXTENSION,
	.name = "flamegraph",
	.version = PLUGIN_VERSION,
	.description = "Interactive flame graph as an HTML page, or an SVG image",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct flamegraph),
	.sink = &operations,
	.configure = flamegraph_configure,
	.destroy = flamegraph_destroy,
};

IAPROF_REGISTER_PLUGIN(flamegraph_plugin)
