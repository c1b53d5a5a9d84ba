/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of a run: selected from the configuration, created and configured, with their outputs checked. */
#pragma once

#include "config/configuration.h"
#include "run/decoders.h"

struct setup {
	ARRAY(struct instance *) sources;
	ARRAY(struct instance *) sinks;
	struct decoders decoders; /* those in the configuration; others are loaded on demand */
	const struct configuration *configuration;
	struct registry *registry;
	struct instance_services *services;
	struct plugin *report; /* writes what ends a run: see run_report.c; NULL: not built with iaprof */
	struct code_rules *rules;
	bool sources_by_probe; /* the user named none: sources whose probe fails are skipped */
	bool has_table;        /* no sink named and standard output is a terminal: also print the top table */
	bool is_before;        /* the earlier run of a differential profile, without sinks; set by the caller */
	bool replays;
	bool sources_probed;
};

/* Receives the results of setup_probe(). */
struct setup_observer {
	/* A source was probed; failure: why it cannot run on this machine, "" if it can. */
	void (*probed)(void *context, struct instance *source, const char *failure);
	void *context;
};

/*
 * Creates and configures every instance. Returns 0, or a negative errno and sets error. The caller zeroes setup and
 * releases it in any case.
 */
int setup_make(struct setup *setup, const struct configuration *configuration, struct registry *registry,
	       struct instance_services *services, struct error *error);
/*
 * Opens outputs that are not regular files. Not done by --check, because a reader of a FIFO would notice the close.
 * Returns the same as setup_make().
 */
int setup_hold_outputs(struct setup *setup, struct error *error);
void setup_release(struct setup *setup);

/*
 * Adds a source and configures it; it is the last of setup->sources then. brought_by: the source that it is a companion
 * of, NULL if none. Returns 0, or a negative errno and sets error.
 */
int setup_add_source(struct setup *setup, const struct instance_configuration *wanted,
		     const struct instance *brought_by, struct error *error);

/*
 * Probes the sources. Sources that the user named must succeed; others are freed if they fail, a companion with a
 * message that gives the reason. -ENODEV: none is left, error contains the reasons. observer may be NULL.
 */
int setup_probe(struct setup *setup, const struct setup_observer *observer, struct error *error);
