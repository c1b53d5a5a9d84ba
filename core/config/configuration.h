/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user asked for: the command line and the INI file, read and checked for form. It knows no plugin: the keys
 * of a source or sink are kept as text, with the place they come from, until its option table is known.
 */
#ifndef IAPROF_CORE_CONFIG_CONFIGURATION_H
#define IAPROF_CORE_CONFIG_CONFIGURATION_H

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/error.h"

/* key=value as written. origin is for messages: "npu.ini:12" or "--source". All owned. */
struct setting {
	char *key;
	char *value;
	char *origin;
};

/* One [source:NAME.ID], [sink:NAME.ID] or [decoder:NAME] section, or --source argument. Later settings of a key
 * override earlier ones. */
struct instance_configuration {
	char *plugin; /* name, or a path when it contains '/' */
	char *id;     /* NULL for the first instance */
	char *origin;
	ARRAY(struct setting) settings;
};

struct instance_list {
	ARRAY(struct instance_configuration);
};

enum configuration_action {
	ACTION_RUN,
	ACTION_CHECK, /* --check: validate, probe, say what is missing; run nothing */
	ACTION_LIST,  /* --list: the plugins */
	ACTION_HELP,  /* --help [PLUGIN] */
	ACTION_VERSION
};

struct configuration {
	enum configuration_action action;
	char *help_plugin;      /* --help PLUGIN; NULL: iaprof itself */
	char *config_path;      /* -c; NULL none */
	uint64_t duration;      /* ns, 0: until the command ends or Ctrl-C */
	uint64_t interval;      /* ns, 0: one profile at the end */
	uint64_t hold;          /* ns, 0: as the correlator likes it */
	uint64_t finish_within; /* ns that a run may take after its last sample */
	int scope;              /* enum iaprof_scope */
	ARRAY(uint32_t) pids;   /* -p */
	char *output;      /* -o: the file of the only sink, before its own output key; NULL not given; "-" stdout */
	char *record_path; /* --record FILE; NULL none */
	struct instance_configuration record; /* --record FILE,KEY=VALUE...: the sink; plugin is NULL without keys */
	char *replay_path;                    /* --replay FILE; NULL none */
	char *before_path;                    /* --diff BEFORE AFTER; NULL none */
	char *after_path;                     /* not NULL when before_path is not */
	int normalization;                    /* enum iaprof_normalization, of before_path */
	int verbosity;                        /* -1 with -q, 1 with -v, 2 with -vv, else 0 */
	/* Values for the options with these names of all sources that have one, whatever an instance says. */
	ARRAY(struct setting) source_settings;
	struct instance_list sources;
	struct instance_list sinks;
	struct instance_list decoders; /* only those that have to be said something */
	char **command;                /* NULL-terminated, NULL when there is none; points into argv */
};

/*
 * Reads the command line and the INI file that it names. configuration is zeroed by the caller and freed by it in any
 * case. Returns 0, or -EINVAL (or -ENOMEM) with error set: one line that names option or file:line, what is wrong, and
 * the nearest known name where there is one. An INI's sections come first, then the command line's instances: one with
 * the same plugin and id overrides the file's keys, another one is added.
 */
int configuration_read(struct configuration *configuration, int argc, char **argv, struct error *error);
void configuration_free(struct configuration *configuration);

#endif
