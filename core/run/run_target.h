/* SPDX-License-Identifier: Apache-2.0 */
/* What a live run profiles, as the metadata "command" and "target", which captures and all sinks have. */
#pragma once

#include "config/configuration.h"
#include "text/text.h"

/* Appends the command that is profiled as a shell would read it; nothing if there is none. */
void run_target_append_command(struct text *text, const struct configuration *configuration);

/*
 * Appends "system-wide", "command", "process 12 (make)", "container web" or "cgroup system.slice", followed by
 * " during sleep 30" if the command only determines how long the run lasts. Reads the names of processes.
 */
void run_target_append(struct text *text, const struct configuration *configuration);
