/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's configuration: the command line and the INI file, parsed and checked for syntax. Independent of plugins:
 * the keys of a source or sink are kept as text, with their origin, until its option table is known.
 */
#pragma once

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
	ACTION_CHECK, /* --check: validate, probe, report what is missing; no run */
	ACTION_LIST,  /* --list: list plugins */
	ACTION_HELP,  /* --help [PLUGIN] */
	ACTION_VERSION
};

struct configuration {
	enum configuration_action action;
	char *help_plugin;      /* --help PLUGIN; NULL: iaprof itself */
	char *config_path;      /* of -c; NULL if none */
	bool config_was_found;  /* -c has a name without a folder, which was looked up */
	uint64_t duration;      /* ns, 0: until the command ends or Ctrl-C */
	uint64_t interval;      /* ns, 0: one profile at the end */
	bool continuous;        /* run without end, in intervals */
	uint64_t memory;        /* bytes: limit of a continuous run */
	double budget;          /* share of all CPU time that a continuous run may use; 0: no limit */
	uint64_t hold;          /* ns, 0: the correlator's default */
	uint64_t finish_within; /* longest time for symbols, and then for sinks, at the end of the run, ns */
	bool limits_finish;     /* finish_within was set: it applies to replays, too */
	int scope;              /* enum iaprof_scope */
	bool is_timer;          /* the command is sleep, which only determines how long the run lasts */
	ARRAY(uint32_t) pids;   /* -p */
	bool without_children;  /* --children no */
	char *cgroup;           /* --cgroup PATH; NULL if none */
	char *container;        /* --container ID; NULL if none */
	char *debuginfod;       /* --debuginfod URL; NULL if none */
	char *rules;            /* --rules FILE; NULL if none */
	char *output;      /* -o: the file of the only sink, before its own output key; NULL not given; "-" stdout */
	char *status_file; /* --status-file FILE; NULL if none */
	char *record_path; /* --record FILE; NULL if none */
	struct instance_configuration record; /* --record FILE,KEY=VALUE...: the sink; plugin is NULL without keys */
	char *replay_path;                    /* --replay FILE; NULL if none */
	char *before_path;                    /* --diff BEFORE AFTER; NULL if none */
	char *after_path;                     /* not NULL when before_path is not */
	uint64_t normalization;               /* enum iaprof_normalization, of before_path */
	int verbosity;                        /* -1 with -q, 1 with -v, 2 with -vv, otherwise 0 */
	/* Values for options with these aliases, in all sources that have them; override the settings of instances. */
	ARRAY(struct setting) source_settings;
	struct instance_list sources;
	struct instance_list sinks;
	struct instance_list decoders; /* only those with settings */
	char **command;                /* NULL-terminated, NULL if there is none; points into argv */
	/* As the user wrote them; scope, verbosity and pids have their meaning. */
	struct {
		uint64_t scope, children, verbose;
		bool quiet;
		char *pids, *plugin_path, *budget;
	} values;
};

/* Aliases of plugins' options on iaprof's command line, loaded on demand, and the folders of these plugins. */
struct option_aliases {
	/* Returns the names, NULL-terminated and valid for the lifetime of the context; NULL: out of memory. */
	const char *const *(*list)(void *context);
	/* Adds folders of plugins, separated by colons; NULL: --plugin-path is only stored. */
	int (*add_folders)(void *context, const char *folders, struct error *error);
	void *context;
};

/*
 * Reads the command line and the INI file that it names. The caller zeroes configuration and frees it in any case.
 * Returns 0, or -EINVAL or -ENOMEM with error set: one line with the option or file:line, the problem, and the nearest
 * known name if there is one. Sections of the INI file come first, then the instances of the command line: an instance
 * with the same plugin and id overrides the file's keys, any other is added.
 */
int configuration_read(struct configuration *configuration, int argc, char **argv, const struct option_aliases *aliases,
		       struct error *error);
void configuration_free(struct configuration *configuration);
