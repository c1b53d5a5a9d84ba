/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the instances of the sources and sinks, the bus between them, and their lifecycle from configure to destroy.
 * Threads: the loop thread (the caller's: sources, process events, signals), the collector thread (bus to profile), one
 * for each sink, and one for each source with thread().
 */
#pragma once

#include "base/error.h"
#include "config/configuration.h"
#include "plugin/registry.h"

/* Exit statuses, documented in iaprof(1). */
enum exit_status {
	EXIT_STATUS_COMPLETE = 0, /* a complete profile */
	EXIT_STATUS_FAILED = 1,   /* a failure during the run */
	EXIT_STATUS_USAGE = 2,    /* wrong usage or configuration, before anything was started */
	EXIT_STATUS_NOTHING = 3   /* nothing to profile on this machine */
};

/* What a continuous run does on SIGHUP. */
struct run_reload {
	/* Reads the configuration again. Returns 0, or a negative errno and sets error. */
	int (*read)(void *context, struct configuration *configuration, struct error *error);
	void *context;
};

/* Runs the configuration; all failures have been printed when it returns. */
enum exit_status run(const struct configuration *configuration, struct registry *registry,
		     const struct run_reload *reload);

/* --check: configures and probes every instance and prints the result of each item on standard output. */
enum exit_status run_check(const struct configuration *configuration, struct registry *registry);
