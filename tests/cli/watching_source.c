/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that needs no hardware: it changes variables of the command's environment, and reports each file that some
 * process has mapped as code in a metadata record "mapped file", its process before it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <iaprof/plugin.h>
#include <iaprof/unwind.h>

#include "ending.h"

struct source {
	const char *name, *value, *path_name, *path_value;
	bool watch, unwind;
	uint64_t ends;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, name, STRING, "name", NULL, "is set"),
	IAPROF_OPTION(struct source, value, STRING, "value", NULL, "to this"),
	IAPROF_OPTION(struct source, path_name, STRING, "path-name", NULL,
		      "a list of paths that is prepended twice: first with \"second\","),
	IAPROF_OPTION(struct source, path_value, STRING, "path-value", NULL, "then with this"),
	IAPROF_OPTION(struct source, watch, BOOL, "watch", NULL, "reports mapped files"),
	IAPROF_OPTION(struct source, unwind, BOOL, "unwind", NULL, "asks for unwind tables"),
	IAPROF_OPTION(struct source, ends, CHOICE, "ends", NULL,
		      "how the process ends at the first mapped file or table", .choices = endings),
};

static int file_is_mapped(const struct iaprof_host *host, void *instance, const struct iaprof_mapped_file *file)
{
	struct source *source = instance;
	end_process(source->ends);
	host->metadata(host, "mapped file", "%u %s", file->pid, file->path);
	return 0;
}

static int table_is_made(const struct iaprof_host *host, void *instance, const struct iaprof_unwind_table *table,
			 const struct iaprof_unwind_process *process)
{
	const struct source *source = instance;
	end_process(source->ends);
	if (table)
		host->metadata(host, "unwind table", "%u rows of %u pages", table->row_count, table->page_count);
	else
		host->metadata(host, "unwind process", "%u", process->pid);
	return 0;
}

static int change(const struct iaprof_host *host, const char *name, const char *value, uint32_t how)
{
	int result = host->command_environment(host, name, value ? value : "", how);
	return result ? host->fail(host, result, "environment: %s", strerror(-result)) : 0;
}

static const struct iaprof_unwind_extension *unwind_of(const struct iaprof_host *host)
{
	return host->extension(host, IAPROF_UNWIND_EXTENSION);
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	int result = 0;
	if (source->name)
		result = change(host, source->name, source->value, IAPROF_ENVIRONMENT_SET);
	if (!result && source->path_name)
		result = change(host, source->path_name, "second", IAPROF_ENVIRONMENT_PREPEND_PATH);
	if (!result && source->path_name)
		result = change(host, source->path_name, source->path_value, IAPROF_ENVIRONMENT_PREPEND_PATH);
	if (!result && source->unwind)
		result = unwind_of(host)->on_unwind(host, table_is_made);
	return !result && source->watch ? host->on_mapped_file(host, file_is_mapped) : result;
}

static int start(const struct iaprof_host *host, void *instance)
{
	if (((struct source *)instance)->unwind)
		unwind_of(host)->unwind_process(host, (uint32_t)getpid(), 0);
	return 0;
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.prepare = prepare,
	.start = start,
	.stop = start,
};

static const struct iaprof_plugin watching_source = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_NEEDS_PROCESSES,
	.name = "watching-source",
	.description = "changes the command's environment and watches mapped files",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
};

IAPROF_REGISTER_PLUGIN(watching_source)
