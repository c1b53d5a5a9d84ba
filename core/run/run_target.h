/* SPDX-License-Identifier: Apache-2.0 */
/* What a live run profiles, as the metadata "command" and "target", which captures and all sinks have. */
#pragma once

#include "config/configuration.h"
#include "text/text.h"

/* Appends the command of the run as a shell would read it; nothing if it has none. */
void run_target_append_command(struct text *text, const struct configuration *configuration);

/*
 * Appends "system-wide", "command", "process 12 (make)", "container web" or "cgroup system.slice". Reads the names of
 * processes.
 */
void run_target_append(struct text *text, const struct configuration *configuration);
