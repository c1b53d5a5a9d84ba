/* SPDX-License-Identifier: Apache-2.0 */
/* See level_zero_use.h. */
#include "level_zero_use.h"
#include <stdio.h>
#include <string.h>
#include "inject/process_maps.h"
#include "probes.h"

/* Digits at most of a part of a version: more is none. */
#define DIGITS_MAX 6

/* Reads decimal digits; the place behind them, or NULL when there are none or too many. */
static const char *number_read(const char *text, const char *end, uint32_t *value)
{
	const char *at = text;
	for (*value = 0; at < end && at - text <= DIGITS_MAX && *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + (uint32_t)(*at - '0');
	return at > text && at - text <= DIGITS_MAX ? at : NULL;
}

/* Whether a text begins with this; *rest is what follows. */
static bool begins(const char *text, const char *end, const char *prefix, const char **rest)
{
	size_t length = strlen(prefix);
	if ((size_t)(end - text) < length || memcmp(text, prefix, length) != 0)
		return false;
	*rest = text + length;
	return true;
}

/* The minor version in "python3.12" and "libpython3.12.so.1.0"; 0 for other names. */
static uint32_t python_minor(const struct process_mapping *mapping)
{
	const char *end = mapping->path + mapping->path_length, *rest;
	const char *name = mapping->path_length ? memrchr(mapping->path, '/', mapping->path_length) : NULL;
	uint32_t minor;
	if (!name || (!begins(name, end, "/python3.", &rest) && !begins(name, end, "/libpython3.", &rest)))
		return 0;
	return number_read(rest, end, &minor) ? minor : 0;
}

struct level_zero_use level_zero_use_find(const char *maps, size_t length)
{
	struct level_zero_use use = { 0 };
	struct process_mapping mapping;
	while (process_mapping_next(&maps, &length, &mapping)) {
		if (!use.loader[0] && process_mapping_is_named(&mapping, "libze_loader.so.1")) {
			size_t kept =
				mapping.path_length < sizeof use.loader ? mapping.path_length : sizeof use.loader - 1;
			memcpy(use.loader, mapping.path, kept);
		} else if (!use.runtime && process_mapping_is_named(&mapping, "libze_intel_gpu.so.1")) {
			use.runtime = mapping.start;
			use.runtime_size = mapping.end - mapping.start;
		}
		use.tracer |= process_mapping_is_named(&mapping, ZE_TRACER_FILE);
		if (!use.python_minor)
			use.python_minor = python_minor(&mapping);
	}
	return use;
}

bool level_zero_version(const char *path, uint32_t version[3])
{
	const char *at = strstr(path, ".so."), *end = path + strlen(path);
	if (!at)
		return false;
	at += strlen(".so");
	for (int i = 0; i < 3; i++) {
		at = at < end && *at == '.' ? number_read(at + 1, end, &version[i]) : NULL;
		if (!at)
			return false;
	}
	return true;
}

bool python_environment_has_perf(const char *text, size_t length)
{
	const char *rest;
	for (const char *end = text + length, *stop; text < end; text = stop + 1) {
		stop = memchr(text, '\0', (size_t)(end - text));
		if (!stop)
			return false;
		/* Not empty and not "0": config_init_perf_profiling() in CPython's Python/initconfig.c, 3.12. */
		if (begins(text, stop, "PYTHONPERFSUPPORT=", &rest))
			return rest < stop && !(stop - rest == 1 && *rest == '0');
	}
	return false;
}

/* "-X perf", "-Xperf", and with what can follow, as in "perf_jit". */
bool python_command_has_perf(const char *text, size_t length)
{
	const char *rest;
	bool is_value = false;
	for (const char *end = text + length, *stop; text < end; text = stop + 1) {
		stop = memchr(text, '\0', (size_t)(end - text));
		if (!stop)
			return false;
		if ((is_value && begins(text, stop, "perf", &rest)) || begins(text, stop, "-Xperf", &rest))
			return true;
		is_value = stop - text == 2 && memcmp(text, "-X", 2) == 0;
	}
	return false;
}
