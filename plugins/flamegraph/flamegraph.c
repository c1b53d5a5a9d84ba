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
#include "page.h"
#include "page_data.h"
#include "page_text.h"
#include "stack_tree.h"

struct flamegraph {
	const char *title; /* NULL: "iaprof" */
	struct stack_text_options text;
};

static const struct iaprof_option options[] = {
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
static int page_write(const struct iaprof_host *host, const struct text *data)
{
	struct iaprof_output *output = host->output_open(host, NULL);
	struct text page = { 0 };
	if (!output)
		return -EIO;
	text_append(&page, (const char *)page_begin, sizeof page_begin);
	page_text_append(&page, data->data, data->size);
	text_append(&page, (const char *)page_end, sizeof page_end);
	int result = text_write(&page, host, output);
	text_free(&page);
	if (result < 0) {
		host->output_discard(host, output);
		return result;
	}
	return host->output_close(host, output);
}

static int flamegraph_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct flamegraph *flamegraph = instance;
	struct stack_tree tree;
	struct text data = { 0 };
	if (profile->value_type_count > PAGE_VALUE_TYPES_MAX)
		host->log(host, IAPROF_LOG_WARNING, "%zu value types, of which the page has the first %u",
			  profile->value_type_count, PAGE_VALUE_TYPES_MAX);
	int result = stack_tree_make(&tree, profile, &flamegraph->text);
	if (result == 0) {
		page_data_append(&data, &tree, flamegraph->title);
		result = data.failed ? -ENOMEM : 0;
	}
	stack_tree_free(&tree);
	result = result ? host->fail(host, result, "not enough memory for %zu stacks", profile->value_count)
			: page_write(host, &data);
	text_free(&data);
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
