/* SPDX-License-Identifier: Apache-2.0 */
/* What one place asks for, before it is checked: the command line is one layer, the INI file is another. */
#ifndef IAPROF_CORE_CONFIG_LAYER_H
#define IAPROF_CORE_CONFIG_LAYER_H

#include <stddef.h>
#include "config/configuration.h"

/* Initialise with {0}. */
struct configuration_layer {
	struct instance_configuration run; /* [iaprof], or options of the same names; it has settings only */
	struct instance_list sources;
	struct instance_list sinks;
	struct instance_list decoders;
};

void configuration_layer_release(struct configuration_layer *layer);

/* The command line but what the plugins' options are. Also sets action, help_plugin, config_path and command. */
int command_line_read(struct configuration *configuration, struct configuration_layer *layer, int argc, char **argv,
		      struct error *error);

/* Longest INI file that is read. A real one has a few lines; what is longer is another file. */
#define INI_FILE_SIZE_MAX (1 << 20)

int ini_file_read(struct configuration_layer *layer, const char *path, struct error *error);
/* The same for a text of size bytes, which need not end in NUL; path is for messages. */
int ini_text_read(struct configuration_layer *layer, const char *path, const char *text, size_t size,
		  struct error *error);

/*
 * Checks both layers, alone and against each other, and fills the configuration: the command line overrides the file.
 * Moves sources, sinks and decoders out of the layers.
 */
int configuration_combine(struct configuration *configuration, struct configuration_layer *file,
			  struct configuration_layer *command_line, struct error *error);

#endif
