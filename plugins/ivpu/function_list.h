/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions of a module of the Linux kernel can be traced, by their names: what the driver is made of differs
 * from release to release and from compiler to compiler, so nothing but the running kernel can say.
 */
#ifndef IAPROF_PLUGINS_IVPU_FUNCTION_LIST_H
#define IAPROF_PLUGINS_IVPU_FUNCTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* Indices up to IVPU_API_FIRST. The driver of Linux 7.2 has 315 functions that can be traced. */
#define FUNCTION_LIST_MAX 4032u

struct listed_function {
	char *name;        /* unlike in another entry, unless the module has several functions of this name */
	uint64_t address;  /* of its symbol */
	uint32_t measured; /* number among those that are measured, from 1 on; 0: it is not */
};

struct function_list {
	struct listed_function *functions; /* in order of names, then addresses */
	uint32_t count;
	uint32_t measured;  /* how many are */
	uint32_t traceable; /* of the module, whatever their names */
	uint32_t left_out;  /* that match a pattern, but are in left_out, too */
	uint32_t ambiguous; /* that match, but of several with that name only some can be traced */
	uint32_t no_room;   /* that match, beyond FUNCTION_LIST_MAX */
	bool only_symbols;  /* tracefs cannot be read: some may not be traceable */
};

struct function_list_wanted {
	const char *module;
	const char *patterns;                  /* of names, with commas between them, as fnmatch() has them */
	bool (*is_left_out)(const char *name); /* NULL: none is */
	bool (*is_measured)(const char *name); /* how its durations are distributed is of interest; NULL: of none */
	const char *traceable_file;            /* NULL: available_filter_functions of tracefs */
	const char *symbols_file;              /* NULL: /proc/kallsyms */
};

/* Returns 0, or what host->fail() returns after one line: when no list can be read, or none of its functions matches.
 */
int function_list_read(struct function_list *list, const struct iaprof_host *host,
		       const struct function_list_wanted *wanted);
void function_list_free(struct function_list *list);

/* Whether a function of this name is in the list. */
bool function_list_has(const struct function_list *list, const char *name);

#endif
