/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of a run: which ones the configuration means, made and configured, their outputs checked. */
#ifndef IAPROF_CORE_RUN_SETUP_H
#define IAPROF_CORE_RUN_SETUP_H

#include "config/configuration.h"
#include "plugin/decoder.h"

struct setup {
	ARRAY(struct instance *) sources;
	ARRAY(struct instance *) sinks;
	struct decoders decoders; /* those that the user wrote down; others come when they are needed */
	const struct configuration *configuration;
	bool sources_by_probe; /* the user named none: those whose probe fails are left out */
	bool has_table;        /* no sink was named and standard output is a terminal: show a table of the top too */
	bool tells_output;     /* nobody named the file that is written: say which one it is */
	bool is_before;        /* the earlier run of a difference, which has no sinks; set by the caller */
	bool replays;
	bool sources_probed;
};

/* What setup_probe() tells of. */
struct setup_observer {
	/* A source was probed; failure: why it cannot run here, "" when it can. */
	void (*probed)(void *context, struct instance *source, const char *failure);
	void *context;
};

/*
 * Makes and configures every instance. Returns 0 or a negative errno with one line. setup is zeroed by the caller and
 * released by it in any case.
 */
int setup_make(struct setup *setup, const struct configuration *configuration, struct registry *registry,
	       struct instance_services *services, struct error *error);
/*
 * Opens what outputs name and is no regular file, which --check does not: a reader of a FIFO sees when it is closed.
 * Returns as setup_make().
 */
int setup_hold_outputs(struct setup *setup, struct error *error);
void setup_release(struct setup *setup);

/*
 * Adds a source and configures it. brought_by: the source that it is a companion of, NULL none. *added, which may be
 * NULL, is the new one. Returns 0 or a negative errno with one line.
 */
int setup_add_source(struct setup *setup, const struct instance_configuration *wanted,
		     const struct instance *brought_by, struct registry *registry, struct instance_services *services,
		     struct instance **added, struct error *error);

/*
 * Probes the sources. One that the user named must succeed; of the others those that fail are freed, a companion with a
 * line that says why. -ENODEV: none is left, and why is in error. observer may be NULL.
 */
int setup_probe(struct setup *setup, const struct setup_observer *observer, struct error *error);

#endif
