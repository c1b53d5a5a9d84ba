/* SPDX-License-Identifier: Apache-2.0 */
/* See run_target.h. */
#include "run/run_target.h"

#include <stdlib.h>
#include <string.h>

#include "process/process_maps.h"

/* Limit on the command, in bytes, and on the processes that are named. */
#define COMMAND_MAX 1000
#define PROCESSES_MAX 3

/* Appends a word of a command, in quotes if a shell would split or expand it. */
static void append_word(struct text *text, const char *word)
{
	static const char *const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
	if (*word && !word[strspn(word, plain)]) {
		text_append_string(text, word);
		return;
	}
	text_append_string(text, "'");
	for (const char *at = word; *at; at++)
		text_append(text, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
	text_append_string(text, "'");
}

static void append_command(struct text *text, const struct configuration *configuration)
{
	size_t begin = text->size;
	for (char **word = configuration->command; word && *word; word++) {
		text_append_string(text, word == configuration->command ? "" : " ");
		if (strlen(*word) > COMMAND_MAX || text->size - begin > COMMAND_MAX) {
			text_append_string(text, "...");
			return;
		}
		append_word(text, *word);
	}
}

void run_target_append_command(struct text *text, const struct configuration *configuration)
{
	if (configuration->scope == IAPROF_SCOPE_COMMAND)
		append_command(text, configuration);
}

static void append_process(struct text *text, uint32_t pid)
{
	char *name = process_name_read((pid_t)pid);
	text_append_unsigned(text, pid);
	if (name && *name) {
		text_append_string(text, " (");
		text_append_name(text, name);
		text_append_string(text, ")");
	}
	free(name);
}

void run_target_append(struct text *text, const struct configuration *configuration)
{
	size_t pids = configuration->pids.count;
	if (pids) {
		text_append_string(text, pids == 1 ? "process " : "processes ");
		for (size_t i = 0; i < pids && i < PROCESSES_MAX; i++) {
			text_append_string(text, i ? ", " : "");
			append_process(text, configuration->pids.items[i]);
		}
		if (pids > PROCESSES_MAX)
			text_append_format(text, " and %zu more", pids - PROCESSES_MAX);
	} else if (configuration->container) {
		text_append_string(text, "container ");
		text_append_name(text, configuration->container);
	} else if (configuration->cgroup) {
		text_append_string(text, "cgroup ");
		text_append_name(text, configuration->cgroup);
	} else {
		text_append_string(text, configuration->scope == IAPROF_SCOPE_SYSTEM ? "system-wide" : "command");
	}
	if (configuration->command && configuration->scope != IAPROF_SCOPE_COMMAND) {
		text_append_string(text, " during ");
		append_command(text, configuration);
	}
}
