/* SPDX-License-Identifier: Apache-2.0 */
/* See level_zero_use.h. */
#include "level_zero_use.h"
#include <string.h>
#include "process/process_maps.h"
#include "text/text_span.h"
#include "probes.h"

/* Larger numbers are not part of a version. */
#define VERSION_MAX 999999u

static bool take_version(struct text_span *text, uint32_t *version)
{
	uint64_t number;
	if (!span_take_decimal(text, &number) || number > VERSION_MAX)
		return false;
	*version = (uint32_t)number;
	return true;
}

/* Returns the minor version in "python3.12" or "libpython3.12.so.1.0", or 0 for other names. */
static uint32_t python_minor(const struct process_mapping *mapping)
{
	const char *slash = mapping->path_length ? memrchr(mapping->path, '/', mapping->path_length) : NULL;
	uint32_t minor;
	if (!slash)
		return 0;
	struct text_span name = { slash, mapping->path_length - (size_t)(slash - mapping->path) };
	if (!span_take(&name, "/python3.") && !span_take(&name, "/libpython3."))
		return 0;
	return take_version(&name, &minor) ? minor : 0;
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
		use.opencl |= process_mapping_is_named(&mapping, "libigdrcl.so");
		use.tracer |= process_mapping_is_named(&mapping, ZE_TRACER_FILE) ||
			      process_mapping_is_named(&mapping, "memfd:" ZE_TRACER_FILE);
		if (!use.python_minor)
			use.python_minor = python_minor(&mapping);
	}
	return use;
}

bool level_zero_version(const char *path, uint32_t version[3])
{
	const char *end = strstr(path, ".so.");
	if (!end)
		return false;
	struct text_span text = span_of(end + strlen(".so"));
	for (int i = 0; i < 3; i++)
		if (!span_take(&text, ".") || !take_version(&text, &version[i]))
			return false;
	return true;
}

/* Handles a text that ends with a NUL. */
static bool take_argument(struct text_span *text, struct text_span *argument)
{
	return span_take_field(text, '\0', argument) && text->text;
}

bool python_environment_has_perf(const char *text, size_t length)
{
	struct text_span rest = { text, length }, variable;
	while (take_argument(&rest, &variable)) {
		/* Neither empty nor "0": config_init_perf_profiling() in CPython's Python/initconfig.c, 3.12. */
		if (span_take(&variable, "PYTHONPERFSUPPORT="))
			return variable.length && !span_is(variable, "0");
	}
	return false;
}

bool opencl_environment_is_on_level_zero(const char *text, size_t length)
{
	struct text_span rest = { text, length }, variable;
	while (take_argument(&rest, &variable)) {
		if (span_take(&variable, "EnableLEO="))
			return span_is(variable, "1");
	}
	return false;
}

/* Recognises "-X perf" and "-Xperf", with any suffix, as in "perf_jit". */
bool python_command_has_perf(const char *text, size_t length)
{
	struct text_span rest = { text, length }, argument;
	bool is_value = false;
	while (take_argument(&rest, &argument)) {
		if ((is_value && span_begins(argument, "perf")) || span_begins(argument, "-Xperf"))
			return true;
		is_value = span_is(argument, "-X");
	}
	return false;
}
