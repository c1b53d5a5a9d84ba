/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Companion sources: built with BRINGS, a source with companions of these names; without it, such a companion. Each
 * reports its configuration when it starts, and ends at once. FAILS: "yes" if its probe fails unless configured
 * otherwise. FLAGS: of the plugin.
 */
#include <errno.h>
#include <stdbool.h>

#include <iaprof/plugin.h>

#ifndef FAILS
#define FAILS "no"
#endif
#ifndef FLAGS
#define FLAGS 0
#endif

/* A companion fails to start with this level. */
#define LEVEL_FAILS 44
/* A companion's probe fails above this level, and its largest level is smaller than that of who brings it in. */
#define LEVEL_HERE 50
#ifdef BRINGS
#define LEVEL_MAX 100
#else
#define LEVEL_MAX 60
#endif

struct source {
	uint64_t level;
	uint64_t subsample; /* as of a source of EU stalls */
	uint64_t check;     /* enum iaprof_check_state; 3: reports nothing */
#ifdef BRINGS
	bool brings; /* named as its companion */
	bool fails;
	const char *kind; /* the companion has an option of this name and another type */
	uint64_t own;
#else
	uint64_t kind;
#endif
};

static const char *const states[] = { "good", "limited", "missing", "nothing", NULL };

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, level, UINT, "level", "1", "Both have it", .maximum = LEVEL_MAX),
	IAPROF_OPTION(struct source, subsample, UINT, "subsample", NULL, "Said when it is set",
		      .alias = "eu-stall-subsample"),
	IAPROF_OPTION(struct source, check, CHOICE, "check", "nothing", "What it reports in check()",
		      .choices = states),
#ifdef BRINGS
	{ .name = BRINGS,
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct source, brings),
	  .default_value = "yes",
	  .help = "Whether its companion comes too" },
	IAPROF_OPTION(struct source, fails, BOOL, "fails", FAILS, "In probe()"),
	IAPROF_OPTION(struct source, kind, STRING, "kind", NULL, "A text here"),
	IAPROF_OPTION(struct source, own, UINT, "own", NULL, "Not its companion's"),
#else
	IAPROF_OPTION(struct source, kind, UINT, "kind", "7", "A number here"),
#endif
};

static int probe(const struct iaprof_host *host, void *instance)
{
	const struct source *source = instance;
#ifdef BRINGS
	bool fails = source->fails;
#else
	bool fails = source->level > LEVEL_HERE;
#endif
	return fails ? host->fail(host, ENODEV, "no device: plug one in") : 0;
}

static void check(const struct iaprof_host *host, void *instance)
{
	const struct source *source = instance;
	if (source->check <= IAPROF_CHECK_MISSING)
		host->check_item(host, (uint32_t)source->check, "what it needs", "level %lu\033[1m",
				 (unsigned long)source->level);
}

static int start(const struct iaprof_host *host, void *instance)
{
	const struct source *source = instance;
#ifdef BRINGS
	host->log(host, IAPROF_LOG_WARNING, "level %lu", (unsigned long)source->level);
#else
	if (source->level == LEVEL_FAILS)
		return host->fail(host, EBUSY, "the device is busy");
	host->log(host, IAPROF_LOG_WARNING, "level %lu, kind %lu", (unsigned long)source->level,
		  (unsigned long)source->kind);
#endif
	if (source->subsample)
		host->log(host, IAPROF_LOG_WARNING, "subsample %lu", (unsigned long)source->subsample);
	host->finished(host);
	return 0;
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

#ifdef BRINGS
static const char *const companions[] = { BRINGS, NULL };
#endif

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = probe,
	.start = start,
	.stop = stop,
#ifdef BRINGS
	.companions = companions,
#endif
	.check = check,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = FLAGS,
	.name = PLUGIN_NAME,
	.description = "one of sources that belong together",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
