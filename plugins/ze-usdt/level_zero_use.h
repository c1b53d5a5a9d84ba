/* SPDX-License-Identifier: Apache-2.0 */
/* Analyses how a process uses Level Zero and OpenCL from its mappings, environment and command line, which are not
 * trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct level_zero_use {
	char loader[256];      /* path of libze_loader.so.1, truncated; empty: the process does not use Level Zero */
	uint64_t runtime;      /* first address of a mapping of Intel's runtime; 0 if none */
	uint64_t runtime_size; /* its size in bytes */
	bool opencl;           /* Intel's OpenCL driver is mapped */
	bool tracer;           /* iaprof's tracer is mapped */
	uint32_t python_minor; /* 12 for Python 3.12; 0: no Python */
};

/* Parses the text of /proc/PID/maps. Pure. */
struct level_zero_use level_zero_use_find(const char *maps, size_t length);

/* Parses "1.32.0" in "/usr/lib/libze_loader.so.1.32.0". Returns false if the name has no version. Pure. */
bool level_zero_version(const char *path, uint32_t version[3]);

/* These return whether /proc/PID/environ or /proc/PID/cmdline enables Python's perf support. Pure. */
bool python_environment_has_perf(const char *text, size_t length);
bool python_command_has_perf(const char *text, size_t length);

/* Returns whether /proc/PID/environ makes OpenCL run on Level Zero inside the driver. Pure. */
bool opencl_environment_is_on_level_zero(const char *text, size_t length);
