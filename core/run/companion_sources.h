/* SPDX-License-Identifier: Apache-2.0 */
/* Companions: sources that are added to a run because another source depends on their records. */
#pragma once

#include "run/setup.h"

/* Returns whether source lists the plugin as its companion and the user did not disable it. */
bool companion_source_is_wanted(const struct instance *source, const char *name);

/*
 * Adds the companions of a source, and their companions, unless the run has a source of that plugin already. One that
 * is not installed or cannot be loaded is skipped with a warning; a value that it rejects is an error. Returns 0, or a
 * negative errno and sets error.
 */
int companion_sources_add(struct setup *setup, const struct instance *source,
			  const struct instance_configuration *wanted, struct error *error);
