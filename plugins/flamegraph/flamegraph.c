/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink flamegraph: one page of HTML with everything in it, which a browser opens without a network, or a picture of it
 * as SVG.
 */
#include <stddef.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "common/stack_text.h"
#include "page.h"
#include "page_data.h"
#include "page_text.h"
#include "stack_tree.h"
#include "svg.h"
#include "value_choice.h"

enum format { FORMAT_HTML, FORMAT_SVG };

struct flamegraph {
	uint64_t format;   /* enum format */
	const char *title; /* NULL: "iaprof" */
	const char *value; /* name of a value type, NULL: the best one */
	struct stack_text_options text;
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
};

static int flamegraph_configure(const struct iaprof_host *host, void *instance)
{
	const struct flamegraph *flamegraph = instance;
	stack_text_request(&flamegraph->text, host);
	return 0;
}

/* The page around the data, in which the data cannot end its element: base64 has no '<'. */
static void page_append(struct text *text, const struct stack_tree *tree, uint32_t value_type, const char *title)
{
	struct text data = { 0 };
	page_data_append(&data, tree, value_type, title);
	text->failed |= data.failed;
	text_append(text, (const char *)page_begin, sizeof page_begin);
	if (!text->failed)
		page_text_append(text, data.data, data.size);
	text_append(text, (const char *)page_end, sizeof page_end);
	text_free(&data);
}

static int flamegraph_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct flamegraph *flamegraph = instance;
	struct stack_tree tree;
	struct text text = { 0 };
	uint32_t value_type;
	if (profile->value_type_count > PAGE_VALUE_TYPES_MAX && flamegraph->format == FORMAT_HTML)
		host->log(host, IAPROF_LOG_WARNING, "%zu value types, of which the page has the first %u",
			  profile->value_type_count, PAGE_VALUE_TYPES_MAX);
	int result = stack_tree_make(&tree, profile, &flamegraph->text);
	if (result)
		host->fail(host, result, "not enough memory for %zu stacks", profile->value_count);
	else
		result = value_type_choose(host, &tree, flamegraph->value, &value_type);
	if (result == 0) {
		(flamegraph->format == FORMAT_SVG ? svg_append : page_append)(&text, &tree, value_type,
									      flamegraph->title);
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

static const struct iaprof_plugin flamegraph_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof flamegraph_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.option_size = sizeof(struct iaprof_option),
	.name = "flamegraph",
	.version = PLUGIN_VERSION,
	.description = "a page with a flame graph, for any browser",
	.extension = "html",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct flamegraph),
	.configure = flamegraph_configure,
	.finish = flamegraph_finish,
	.profile = flamegraph_profile,
};

IAPROF_REGISTER_PLUGIN(flamegraph_plugin)
