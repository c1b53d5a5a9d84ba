/* SPDX-License-Identifier: Apache-2.0 */
/* See function_list.h. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "function_list.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "npu/driver_functions.h"
#include "text/text.h"

/* KSYM_NAME_LEN, include/linux/kallsyms.h, and the width for scanf(). */
#define NAME_SIZE 512
#define NAME_WIDTH "511"
#define MODULE_SIZE 64
#define MODULE_WIDTH "63"

static const char *const traceable_files[] = { "/sys/kernel/tracing/available_filter_functions",
					       "/sys/kernel/debug/tracing/available_filter_functions" };
static const char symbols_file[] = "/proc/kallsyms";

/* Returns whether a name matches one of the patterns. */
static bool name_matches(const char *name, const char *patterns)
{
	while (*patterns) {
		size_t length = strcspn(patterns, ",");
		char pattern[NAME_SIZE];
		if (length && length < sizeof pattern) {
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (fnmatch(pattern, name, 0) == 0)
				return true;
		}
		patterns += length + (patterns[length] == ',');
	}
	return false;
}

/*
 * Returns whether a symbol was split off by the compiler or added by the kernel: these are never called or cannot be
 * traced.
 */
static bool name_is_part(const char *name)
{
	static const char *const prefixes[] = { "__pfx_", "__cfi_", "__ftrace_invalid_address___" };
	const char *cold = strstr(name, ".cold");

	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return cold && (cold[5] == '\0' || cold[5] == '.');
}

/* Adds a function to the list. Returns false when out of memory. */
static bool function_add(struct function_list *list, const char *name, uint64_t address)
{
	if (!array_grow((void **)&list->functions, &list->capacity, (size_t)list->count + 1, sizeof *list->functions))
		return false;
	char *copy = strdup(name);
	if (!copy)
		return false;
	list->functions[list->count++] = (struct listed_function){ .name = copy, .address = address };
	return true;
}

static int compare_functions(const void *left, const void *right)
{
	const struct listed_function *one = left, *other = right;
	int order = strcmp(one->name, other->name);

	return order ? order : (one->address > other->address) - (one->address < other->address);
}

static void functions_sort(struct function_list *list)
{
	if (list->count)
		qsort(list->functions, list->count, sizeof *list->functions, compare_functions);
}

/* Adds a listed function if it is wanted. Returns false when out of memory. */
static bool name_take(struct function_list *list, const struct function_list_wanted *wanted, const char *name,
		      uint64_t address)
{
	if (name_is_part(name))
		return true;
	list->traceable++;
	if (!name_matches(name, wanted->patterns))
		return true;
	if (wanted->is_left_out && wanted->is_left_out(name)) {
		list->left_out++;
		return true;
	}
	if (list->count == FUNCTION_LIST_MAX) {
		list->no_room++;
		return true;
	}
	return function_add(list, name, address);
}

/* Reads lines of the form "NAME [MODULE]". Returns 0 or a negative errno. */
static int traceable_read(struct function_list *list, const struct function_list_wanted *wanted, FILE *file)
{
	char line[NAME_SIZE + MODULE_SIZE + 32], name[NAME_SIZE], module[MODULE_SIZE];

	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, "%" NAME_WIDTH "s [%" MODULE_WIDTH "[^]]]", name, module) == 2 &&
		    strcmp(module, wanted->module) == 0 && !name_take(list, wanted, name, 0))
			return -ENOMEM;
	}
	return ferror(file) ? -errno : 0;
}

/* Reads lines of the form "ADDRESS TYPE NAME\t[MODULE]". Returns 0 or a negative errno. */
static int symbols_read(struct function_list *list, const struct function_list_wanted *wanted, FILE *file)
{
	char line[NAME_SIZE + MODULE_SIZE + 64], name[NAME_SIZE], module[MODULE_SIZE], type;
	uint64_t address;

	while (fgets(line, sizeof line, file)) {
		/* Most lines belong to the kernel itself. */
		if (!strchr(line, '['))
			continue;
		if (sscanf(line, "%" SCNx64 " %c %" NAME_WIDTH "s [%" MODULE_WIDTH "[^]]]", &address, &type, name,
			   module) == 4 &&
		    (type == 't' || type == 'T') && strcmp(module, wanted->module) == 0 &&
		    !name_take(list, wanted, name, address))
			return -ENOMEM;
	}
	return ferror(file) ? -errno : 0;
}

static FILE *traceable_open(const struct function_list_wanted *wanted)
{
	FILE *file = NULL;

	if (wanted->traceable_file)
		return fopen(wanted->traceable_file, "re");
	for (size_t i = 0; !file && i < sizeof traceable_files / sizeof traceable_files[0]; i++)
		file = fopen(traceable_files[i], "re");
	return file;
}

/* Returns the number of functions in a sorted list that share the name of the first one, at index. */
static uint32_t name_count(const struct function_list *list, uint32_t index)
{
	uint32_t end = index + 1;

	while (end < list->count && strcmp(list->functions[end].name, list->functions[index].name) == 0)
		end++;
	return end - index;
}

/*
 * Keeps the symbols that can be traced. The kernel lists traceable functions by name only: if several functions share a
 * name and not all can be traced, it is unknown which, and the kernel would refuse the whole list because of one of
 * them.
 */
static void traceable_keep(struct function_list *symbols, const struct function_list *traceable)
{
	uint32_t kept = 0, other = 0;

	for (uint32_t i = 0; i < symbols->count;) {
		uint32_t count = name_count(symbols, i), others = 0;
		while (other < traceable->count &&
		       strcmp(traceable->functions[other].name, symbols->functions[i].name) < 0)
			other++;
		if (other < traceable->count &&
		    strcmp(traceable->functions[other].name, symbols->functions[i].name) == 0)
			others = name_count(traceable, other);
		for (uint32_t j = i; j < i + count; j++) {
			if (others == count)
				symbols->functions[kept++] = symbols->functions[j];
			else
				free(symbols->functions[j].name);
		}
		if (others && others != count)
			symbols->ambiguous += count;
		i += count;
	}
	symbols->count = kept;
}

/* Several symbols of one function: one is enough. */
static void aliases_drop(struct function_list *list)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		bool alias = false;
		for (uint32_t j = 0; j < kept && !alias; j++)
			alias = list->functions[j].address == list->functions[i].address;
		if (alias)
			free(list->functions[i].name);
		else
			list->functions[kept++] = list->functions[i];
	}
	list->count = kept;
}

static int list_check(const struct function_list *list, const struct iaprof_host *host,
		      const struct function_list_wanted *wanted)
{
	if (list->count == 0 && list->left_out)
		return host->fail(host, ENOENT,
				  "functions=%s matches only functions that are skipped because they are called for "
				  "each page (add hot=yes)",
				  wanted->patterns);
	if (list->count == 0)
		return host->fail(host, ENOENT,
				  "functions=%s matches none of the %" PRIu32
				  " traceable functions of module %s (`grep '%s]' %s` lists them)",
				  wanted->patterns, list->traceable, wanted->module, wanted->module,
				  traceable_files[0]);
	for (uint32_t i = 0; i < list->count; i++)
		if (!list->functions[i].address)
			return host->fail(host, EPERM,
					  "%s hides addresses: requires CAP_SYSLOG and kernel.kptr_restrict of 0 or 1 "
					  "(run as root after `sysctl kernel.kptr_restrict=1`)",
					  symbols_file);
	return 0;
}

static void functions_measure(struct function_list *list, const struct function_list_wanted *wanted)
{
	for (uint32_t i = 0; i < list->count && wanted->is_measured; i++)
		if (wanted->is_measured(list->functions[i].name))
			list->functions[i].measured = ++list->measured;
}

/* Sets *unavailable, with a warning, if traceable functions cannot be listed. Returns 0 or -ENOMEM. */
static int traceable_list(struct function_list *list, const struct iaprof_host *host,
			  const struct function_list_wanted *wanted, bool *unavailable)
{
	CLEANUP_FCLOSE FILE *file = traceable_open(wanted);
	int result = file ? traceable_read(list, wanted, file) : -errno;

	*unavailable = result && result != -ENOMEM;
	if (!*unavailable)
		return result;
	host->log(host, IAPROF_LOG_WARNING, "%s: %s: cannot tell which functions are traceable (mount tracefs)",
		  wanted->traceable_file ? wanted->traceable_file : traceable_files[0], strerror(-result));
	return 0;
}

static int symbols_list(struct function_list *list, const struct iaprof_host *host,
			const struct function_list_wanted *wanted)
{
	const char *path = wanted->symbols_file ? wanted->symbols_file : symbols_file;
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");

	if (!file)
		return host->fail(host, errno, "%s: %s: cannot list the functions of module %s", path, strerror(errno),
				  wanted->module);
	int result = symbols_read(list, wanted, file);
	if (result == -ENOMEM)
		return host->fail(host, ENOMEM, "out of memory");
	return result ? host->fail(host, result, "%s: %s", path, strerror(-result)) : 0;
}

int function_list_read(struct function_list *list, const struct iaprof_host *host,
		       const struct function_list_wanted *wanted)
{
	struct function_list traceable = { 0 };

	*list = (struct function_list){ 0 };
	int result = traceable_list(&traceable, host, wanted, &list->only_symbols);
	result = result ? host->fail(host, ENOMEM, "out of memory") : symbols_list(list, host, wanted);
	if (result == 0) {
		functions_sort(list);
		functions_sort(&traceable);
		if (!list->only_symbols) {
			traceable_keep(list, &traceable);
			list->traceable = traceable.traceable;
			list->left_out = traceable.left_out;
			list->no_room = traceable.no_room;
		}
		aliases_drop(list);
		functions_measure(list, wanted);
		result = list_check(list, host, wanted);
	}
	function_list_free(&traceable);
	if (result)
		function_list_free(list);
	return result;
}

void function_list_free(struct function_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free(list->functions[i].name);
	free(list->functions);
	*list = (struct function_list){ 0 };
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, ((const struct listed_function *)element)->name);
}

const struct listed_function *function_list_find(const struct function_list *list, const char *name)
{
	return list->count ? bsearch(name, list->functions, list->count, sizeof *list->functions, compare_name) : NULL;
}

/* Names in the metadata. */
#define UNKNOWN_SHOWN 16u

/* Returns whether a function is traced, or one that has its place in another version of the driver. */
static bool has_function(const struct function_list *list, const struct ivpu_function *known)
{
	for (const char *name = known->name; name; name = ivpu_function_find(name)->alternative)
		if (function_list_find(list, name))
			return true;
	return false;
}

void function_list_report_unknown(const struct iaprof_host *host, const struct function_list *list)
{
	CLEANUP(text_free) struct text text = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		if (ivpu_function_find(list->functions[i].name)->family == IVPU_FAMILY_OTHER && count++ < UNKNOWN_SHOWN)
			text_append_format(&text, "%s%s", text.size ? " " : "", list->functions[i].name);
	if (count && !text.failed)
		host->metadata(host, "functions of no known family", "%" PRIu32 ": %s%s", count, text_string(&text),
			       count > UNKNOWN_SHOWN ? " ..." : "");
}

void function_list_report_missing(const struct iaprof_host *host, const struct function_list *list)
{
	char text[1024] = "";
	size_t length = 0;
	const struct ivpu_function *known;

	for (size_t i = 0; (known = ivpu_function_at(i)) && length < sizeof text; i++) {
		if (!(known->flags & IVPU_FUNCTION_WELL_KNOWN) || has_function(list, known))
			continue;
		int written = snprintf(text + length, sizeof text - length, "%s%s", length ? " " : "", known->name);
		length += written > 0 ? (size_t)written : 0;
	}
	if (!length)
		return;
	host->log(host, IAPROF_LOG_INFO, "driver functions that are missing or excluded by functions=: %s", text);
	host->metadata(host, "functions missing", "%s", text);
}
