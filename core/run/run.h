/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the instances of the sources and sinks, the bus between them, and their lives from configure to destroy.
 *
 * Threads: the loop's (the caller's: sources, process events, signals), the collector's (bus to profile), one for each
 * sink, and one for each source that has thread().
 */
#ifndef IAPROF_CORE_RUN_RUN_H
#define IAPROF_CORE_RUN_RUN_H

#include "base/error.h"
#include "config/configuration.h"
#include "plugin/registry.h"

/* What iaprof exits with: design of the exit statuses in iaprof(1). */
enum exit_status {
	EXIT_STATUS_COMPLETE = 0, /* a complete profile */
	EXIT_STATUS_FAILED = 1,   /* it ran and something failed */
	EXIT_STATUS_USAGE = 2,    /* wrong usage or configuration, before anything was started */
	EXIT_STATUS_NOTHING = 3   /* nothing to profile on this machine */
};

/* Does what the configuration says; every failure has been shown when it returns. */
enum exit_status run(const struct configuration *configuration, struct registry *registry);

/* --check: configures and probes every instance and says what it found, item by item, on standard output. */
enum exit_status run_check(const struct configuration *configuration, struct registry *registry);

#endif
