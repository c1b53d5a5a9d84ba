/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of iaprof itself, in one table: those of the command line, the keys of section [iaprof] of an INI file,
 * and the text of --help, from which the completions of shells are made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <iaprof/option.h>
#include "config/option_table.h"

/* The headings of --help. */
enum run_option_group { GROUP_TARGET, GROUP_OUTPUT, GROUP_CAPTURES, GROUP_CONFIGURATION, GROUP_MESSAGES, GROUP_COUNT };

/* What an option of the command line does with its value. */
enum run_option_action {
	OPTION_SETS,  /* its key to the value; given again, to the last one */
	OPTION_LISTS, /* the same, but adds it after a separator */
	OPTION_ENABLES,
	OPTION_COUNTS, /* as often as it is given */
	OPTION_SOURCE,
	OPTION_SINK,
	OPTION_DECODER,
	OPTION_DIFF,
	OPTION_CONFIG,
	OPTION_LIST,
	OPTION_CHECK,
	OPTION_SELF_TEST,
	OPTION_HELP,
	OPTION_VERSION
};

struct run_option {
	const char *name; /* of --NAME, and of the key */
	/* Of --NAME, as in --help; "[ARGUMENT]": optional; NULL: one of the choices of the key, or none. */
	const char *argument;
	const char *text; /* its description; NULL: only a key */
	/* The value in struct configuration, without name and help; type 0: only an option of the command line. */
	struct iaprof_option key;
	enum run_option_group group;
	enum run_option_action action;
	char letter;    /* of -LETTER; 0: none */
	char separator; /* OPTION_LISTS */
};

/* Limit on their number. */
#define RUN_OPTIONS_MAX 64u
extern const struct run_option run_options[];
extern const size_t run_option_count;

static inline bool run_option_is_choice(const struct run_option *option)
{
	return option->key.type == IAPROF_OPTION_CHOICE;
}

/* Returns whether --NAME has a value, which may be optional. */
static inline bool run_option_has_value(const struct run_option *option)
{
	return option->argument || run_option_is_choice(option);
}

/* The keys, as a table of struct configuration. Not thread-safe. */
const struct option_table *run_option_keys(void);

/* Writes an option of the command line for --help. */
void run_option_describe(const struct run_option *option, FILE *file);
