/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the traceable functions of a Linux kernel module by name. They differ between driver versions and compilers, so
 * they are read from the running kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* Limit on functions, whose indices are below IVPU_API_FIRST. The driver of Linux 7.2 has 315 traceable functions. */
#define FUNCTION_LIST_MAX 4032u

struct listed_function {
	char *name;        /* unique, unless the module has several functions of this name */
	uint64_t address;  /* address of its symbol */
	uint32_t measured; /* number among the measured functions, from 1; 0: not measured */
};

struct function_list {
	struct listed_function *functions; /* sorted by name, then address */
	uint32_t count;
	size_t capacity;
	uint32_t measured;  /* number of measured functions */
	uint32_t traceable; /* number of traceable functions of the module, regardless of the patterns */
	uint32_t left_out;  /* matched, but excluded by is_left_out */
	uint32_t ambiguous; /* matched, but only some of several functions of that name can be traced */
	uint32_t no_room;   /* matched, beyond FUNCTION_LIST_MAX */
	bool only_symbols;  /* tracefs cannot be read: some functions may not be traceable */
};

struct function_list_wanted {
	const char *module;
	const char *patterns;                  /* name patterns for fnmatch(), separated by commas */
	bool (*is_left_out)(const char *name); /* NULL: none is */
	bool (*is_measured)(const char *name); /* whether to record a latency histogram; NULL: never */
	const char *traceable_file;            /* NULL: available_filter_functions of tracefs */
	const char *symbols_file;              /* NULL: /proc/kallsyms */
};

/* Returns 0, or the result of host->fail() if no list can be read or no function matches. */
int function_list_read(struct function_list *list, const struct iaprof_host *host,
		       const struct function_list_wanted *wanted);
void function_list_free(struct function_list *list);

/* Returns a function of this name, or NULL. */
const struct listed_function *function_list_find(const struct function_list *list, const char *name);

/* These report how the functions differ from those that npu/driver_functions.h knows. */
/* Well-known functions that this driver lacks, or that cannot be traced. */
void function_list_report_missing(const struct iaprof_host *host, const struct function_list *list);
/* Functions that belong to no group: newer drivers have them. */
void function_list_report_unknown(const struct iaprof_host *host, const struct function_list *list);
