/* SPDX-License-Identifier: Apache-2.0 */
/* A sink that opens its output at once, and fails in the callback that in= names with the output half written, or never
 * comes back. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <iaprof/plugin.h>

#include "ending.h"

#define PAUSE 400000 /* microseconds */

enum place { NOWHERE, CONFIGURE, PREPARE, START, RECORDS, PROFILE, FINISH, STUCK, DESTROY, CHECK };
static const char *const places[] = { "nowhere", "configure", "prepare", "start", "records", "profile",
				      "finish",  "stuck",     "destroy", "check", NULL };

/* What it does for ever. */
enum flood { NO_FLOOD, MESSAGES, OUTPUT };
static const char *const floods[] = { "nothing", "messages", "output", NULL };

/* What finish() leaves behind. */
enum leaving { CLOSED, OPEN, UNOPENED };
static const char *const leavings[] = { "closed", "open", "unopened", NULL };

struct sink {
	uint64_t in, floods, pauses, leaves;
	bool silently, slow, prints;
	uint64_t ends;
	struct iaprof_output *output;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct sink, in, CHOICE, "in", NULL, "the callback that fails", .choices = places),
	IAPROF_OPTION(struct sink, silently, BOOL, "silently", NULL, "does not say why"),
	IAPROF_OPTION(struct sink, prints, BOOL, "prints", NULL, "prints the name of each callback"),
	IAPROF_OPTION(struct sink, ends, CHOICE, "ends", NULL, "ends the process instead of failing",
		      .choices = endings),
	IAPROF_OPTION(struct sink, pauses, UINT, "pauses", NULL,
		      "lines that it writes in profile(), each after a pause of 0.4 s", .maximum = 100),
	IAPROF_OPTION(struct sink, slow, BOOL, "slow", NULL, "pauses in each call of records()"),
	IAPROF_OPTION(struct sink, floods, CHOICE, "floods", NULL, "what it sends without end instead of failing",
		      .choices = floods),
	IAPROF_OPTION(struct sink, leaves, CHOICE, "leaves", NULL, "what finish() leaves the output as",
		      .choices = leavings),
};

static int fail_in(const struct iaprof_host *host, const struct sink *sink, enum place place)
{
	if (sink->prints)
		printf("printed in %s\n", places[place]);
	if (sink->in != place)
		return 0;
	while (sink->floods)
		if (sink->floods == MESSAGES) {
			/* Thousands in a second, with CPU time left for others. */
			host->log(host, IAPROF_LOG_ERROR, "again");
			usleep(50);
		} else {
			host->output_write(host, sink->output, "again\n", 6);
		}
	end_process(sink->ends);
	if (sink->ends)
		return 0;
	return sink->silently ? -EIO : host->fail(host, EIO, "the %s fails as requested", places[place]);
}

static int configure(const struct iaprof_host *host, void *instance)
{
	return fail_in(host, instance, CONFIGURE);
}

static void check(const struct iaprof_host *host, void *instance)
{
	const struct sink *sink = instance;
	if (sink->in == CHECK && !sink->ends)
		host->check_item(host, IAPROF_CHECK_MISSING, "what it needs", "none\nhere");
	else
		(void)fail_in(host, sink, CHECK);
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	return fail_in(host, instance, PREPARE);
}

static int start(const struct iaprof_host *host, void *instance)
{
	return fail_in(host, instance, START);
}

static int open_output(const struct iaprof_host *host, struct sink *sink)
{
	if (sink->output || sink->leaves == UNOPENED)
		return 0;
	sink->output = host->output_open(host, NULL, 0);
	int result = sink->output ? host->output_write(host, sink->output, "half\n", 5) : -EIO;
	return result ? result : host->output_flush(host, sink->output);
}

static int records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct sink *sink = instance;
	int result = open_output(host, sink);
	if (sink->slow)
		usleep(PAUSE);
	return result ? result : fail_in(host, sink, RECORDS);
}

static int profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct sink *sink = instance;
	int result = open_output(host, sink);
	for (uint64_t i = 0; !result && i < sink->pauses; i++) {
		usleep(PAUSE);
		result = host->output_write(host, sink->output, "pause\n", 6);
		if (!result)
			result = host->output_flush(host, sink->output);
	}
	return result ? result : fail_in(host, sink, PROFILE);
}

static int finish(const struct iaprof_host *host, void *instance)
{
	struct sink *sink = instance;
	int result = open_output(host, sink);
	if (!result)
		result = fail_in(host, sink, FINISH);
	while (sink->in == STUCK)
		pause();
	return result || sink->leaves ? result : host->output_close(host, sink->output);
}

static void destroy(const struct iaprof_host *host, void *instance)
{
	fail_in(host, instance, DESTROY);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "txt",
	.check = check,
	.prepare = prepare,
	.start = start,
	.records = records,
	.profile = profile,
	.finish = finish,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.name = "failing-sink",
	.description = "fails in the requested callback",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct sink),
	.sink = &operations,
	.configure = configure,
	.destroy = destroy,
};
IAPROF_REGISTER_PLUGIN(plugin)
