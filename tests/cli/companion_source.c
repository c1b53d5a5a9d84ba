/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources that belong together: built with BRINGS it has companions of these names, without it is one. Each says what
 * it was configured with when it starts, and ends at once. FAILS: "yes" when its probe fails unless told otherwise.
 * FLAGS: of the plugin.
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
	uint64_t check;     /* enum iaprof_check_state; 3: tells nothing */
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
	{ .name = "level",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct source, level),
	  .default_value = "1",
	  .maximum = LEVEL_MAX,
	  .help = "Both have it" },
	{ .name = "subsample",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct source, subsample),
	  .help = "Said when it is set",
	  .alias = "eu-stall-subsample" },
	{ .name = "check",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct source, check),
	  .choices = states,
	  .default_value = "nothing",
	  .help = "What it tells in check()" },
#ifdef BRINGS
	{ .name = BRINGS,
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct source, brings),
	  .default_value = "yes",
	  .help = "Whether its companion comes too" },
	{ .name = "fails",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct source, fails),
	  .default_value = FAILS,
	  .help = "In probe()" },
	{ .name = "kind",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct source, kind),
	  .help = "A text here" },
	{ .name = "own",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct source, own),
	  .help = "Not its companion's" },
#else
	{ .name = "kind",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct source, kind),
	  .default_value = "7",
	  .help = "A number here" },
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
	if (IAPROF_HOST_HAS(host, check_item) && source->check <= IAPROF_CHECK_MISSING)
		host->check_item(host, (uint32_t)source->check, "what it needs", "level %lu\033[1m",
				 (unsigned long)source->level);
}

static int start(const struct iaprof_host *host, void *instance)
{
	const struct source *source = instance;
#ifdef BRINGS
	host->log(host, IAPROF_LOG_WARNING, "level %lu", (unsigned long)source->level);
#else
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
	(void)host;
	(void)instance;
	return 0;
}

#ifdef BRINGS
static const char *const companions[] = { BRINGS, NULL };
#endif

static const struct iaprof_plugin plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = FLAGS,
	.option_size = sizeof(struct iaprof_option),
	.name = PLUGIN_NAME,
	.description = "one of sources that belong together",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct source),
	.probe = probe,
	.start = start,
	.stop = stop,
#ifdef BRINGS
	.companions = companions,
#endif
	.check = check,
};
IAPROF_REGISTER_PLUGIN(plugin)
