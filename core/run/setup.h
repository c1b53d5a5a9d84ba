/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of a run: which ones the configuration means, made and configured, their outputs checked. */
#ifndef IAPROF_CORE_RUN_SETUP_H
#define IAPROF_CORE_RUN_SETUP_H

#include "config/configuration.h"
#include "plugin/instance.h"
#include "plugin/registry.h"

struct setup {
	ARRAY(struct instance *) sources;
	ARRAY(struct instance *) sinks;
	bool sources_by_probe; /* the user named none: those whose probe fails are left out */
	bool has_table;        /* no sink was named and standard output is a terminal: show a table of the top too */
	bool replays;
	bool sources_probed;
};

/*
 * Makes and configures every instance. Returns 0 or a negative errno with one line. setup is zeroed by the caller and
 * released by it in any case.
 */
int setup_make(struct setup *setup, const struct configuration *configuration, struct registry *registry,
	       struct instance_services *services, struct error *error);
void setup_release(struct setup *setup);

/*
 * Probes the sources. One that the user named must succeed; of the others those that fail are freed. -ENODEV: none is
 * left, and why is in error. found() is told of each (may be NULL), with why it failed, "" when it did not.
 */
int setup_probe(struct setup *setup, void (*found)(const struct instance *source, const char *failure),
		struct error *error);

#endif
