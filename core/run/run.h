/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the instances of the sources and sinks, the bus between them, and their lifecycle from configure to destroy.
 * Threads: the loop thread (the caller's: sources, process events, signals), the collector thread (bus to engine and
 * sinks), one for each sink, and one for each source with thread().
 */
#pragma once

#include "base/error.h"
#include "bus/engine.h"
#include "config/configuration.h"
#include "plugin/registry.h"

/* Results of a run, and exit statuses of iaprof without a command, documented in iaprof(1). */
enum exit_status {
	EXIT_STATUS_COMPLETE = 0, /* a complete profile */
	EXIT_STATUS_FAILED = 1,   /* a failure during the run */
	EXIT_STATUS_USAGE = 2,    /* wrong usage or configuration, before anything was started */
	EXIT_STATUS_NOTHING = 3   /* nothing to profile on this machine */
};

/* What a program brings to its runs. */
struct run_parts {
	struct registry *registry;
	const struct engine_functions *engine; /* NULL: none, and sinks receive records only */
	/* Reads the configuration again, on SIGHUP. Returns 0, or a negative errno and sets error. */
	int (*read)(void *context, struct configuration *configuration, struct error *error);
	void *context;
};

/* Exit status of iaprof, with a command, for its own failures; as env(1) and timeout(1). */
#define EXIT_STATUS_OWN_FAILURE 125

/* How the command of a run ended. */
struct command_result {
	int status; /* as shells report it: 128+N for signal N, 126 or 127 for a program that they cannot run */
	bool was_not_executed; /* status is 126 or 127, and the result of the run is a failure for this reason */
};

/* Runs the configuration; all failures have been printed when it returns. *command: {0} if there was none. */
enum exit_status run(const struct configuration *configuration, const struct run_parts *parts,
		     struct command_result *command);

/* --check: configures and probes every instance and prints the result of each item on standard output. */
enum exit_status run_check(const struct configuration *configuration, struct registry *registry);
