/* SPDX-License-Identifier: Apache-2.0 */
/* Unchecked settings from one origin: the command line is one layer, the INI file another. */
#pragma once

#include <stddef.h>
#include "config/configuration.h"

/* Initialise with {0}. */
/* Origin of the settings of options, for messages. */
#define COMMAND_LINE "command line"

struct configuration_layer {
	struct instance_configuration run; /* [iaprof], or options of the same names; only its settings are used */
	struct instance_list sources;
	struct instance_list sinks;
	struct instance_list decoders;
};

void configuration_layer_release(struct configuration_layer *layer);

/*
 * Reads the command line, except the meaning of plugin options. Also sets action, help_plugin, config_path and command.
 */
int command_line_read(struct configuration *configuration, struct configuration_layer *layer, int argc, char **argv,
		      const struct option_aliases *aliases, struct error *error);

/* Adds folders with plugins, separated by colons. */
int plugin_folders_add(const struct option_aliases *aliases, const char *folders, const char *origin,
		       struct error *error);

/* Largest INI file accepted, in bytes. Real ones have a few lines; a larger file was named by mistake. */
#define INI_FILE_SIZE_MAX (1 << 20)

int ini_file_read(struct configuration_layer *layer, const char *path, struct error *error);
/* The same for text of size bytes, not necessarily NUL-terminated; path is used in messages. */
int ini_text_read(struct configuration_layer *layer, const char *path, const char *text, size_t size,
		  struct error *error);

/*
 * Checks both layers, individually and against each other, and fills the configuration: the command line overrides the
 * file. Moves sources, sinks and decoders out of the layers.
 */
int configuration_combine(struct configuration *configuration, struct configuration_layer *file,
			  struct configuration_layer *command_line, const struct option_aliases *aliases,
			  struct error *error);
