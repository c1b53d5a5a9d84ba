/* SPDX-License-Identifier: Apache-2.0 */
/* What iaprof --help and iaprof --help PLUGIN print, 80 columns wide. The completions read both. */
#ifndef IAPROF_CORE_CONFIG_HELP_H
#define IAPROF_CORE_CONFIG_HELP_H

#include <stdio.h>
#include <iaprof/plugin.h>

void help_write(FILE *file);

/* plugin has passed the loader's checks, its option table included. */
void help_write_plugin(const struct iaprof_plugin *plugin, FILE *file);

#endif
