/* SPDX-License-Identifier: Apache-2.0 */
/* Output of iaprof --help and iaprof --help PLUGIN, 80 columns wide. The shell completions parse both. */
#pragma once

#include <stdio.h>
#include <iaprof/plugin.h>

/* An option of a source that is also an option of iaprof. */
struct help_alias {
	const char *plugin;
	struct iaprof_option option;
};

void help_write(const struct help_alias *aliases, size_t count, FILE *file);

/* Requires that plugin has passed the loader's checks, including those of its option table. */
void help_write_plugin(const struct iaprof_plugin *plugin, FILE *file);
