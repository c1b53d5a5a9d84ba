/* SPDX-License-Identifier: Apache-2.0 */
/* Companions: the sources that a source of the run brings in, because its records mean little without theirs. */
#ifndef IAPROF_CORE_RUN_COMPANIONS_H
#define IAPROF_CORE_RUN_COMPANIONS_H

#include "run/setup.h"

/* Whether source brings in the source plugin of this name: it names it, and no option of the user says no. */
bool companion_is_wanted(const struct instance *source, const char *name);

/*
 * Adds the companions of a source that was made from a configuration, and theirs, each unless a source of its plugin is
 * there. One that is not installed or cannot be loaded is left out with a line; what the user wrote and it refuses is
 * an error: 0 or a negative errno with one line.
 */
int companions_add(struct setup *setup, const struct instance *source, const struct instance_configuration *wanted,
		   struct registry *registry, struct instance_services *services, struct error *error);

#endif
