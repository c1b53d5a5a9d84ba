/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of iaprof --help, --help all, --help PLUGIN and --list, 80 columns wide. The shell completions parse the last
 * three.
 */
#pragma once

#include <stdio.h>
#include <iaprof/plugin.h>

/* An option of a source that is also an option of iaprof. */
struct help_alias {
	const char *plugin;
	struct iaprof_option option;
};

/* --help: one screen with the commonest uses. */
void help_write_common(FILE *file);
/* --help all. */
void help_write(const struct help_alias *aliases, size_t count, FILE *file);

/*
 * Requires that plugin has passed the loader's checks, including those of its option table. companions: of a source, or
 * NULL; machine: of a decoder.
 */
void help_write_plugin(const struct iaprof_plugin *plugin, const char *const *companions, uint32_t machine, FILE *file);

/* --list: a heading for an enum iaprof_plugin_kind, and a plugin that has passed the loader's checks. */
void help_write_list_heading(uint32_t kind, FILE *file);
void help_write_list_item(const struct iaprof_plugin *plugin, FILE *file);
