/* SPDX-License-Identifier: Apache-2.0 */
/* What the mappings, environment and command line of a process tell of its use of Level Zero. Anybody may have made
 * them. */
#ifndef IAPROF_ZE_USDT_LEVEL_ZERO_USE_H
#define IAPROF_ZE_USDT_LEVEL_ZERO_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct level_zero_use {
	char loader[256];      /* path of libze_loader.so.1, cut; empty: the process does not use Level Zero */
	uint64_t runtime;      /* first address of a mapping of Intel's runtime; 0 none */
	uint64_t runtime_size; /* its bytes */
	bool tracer;           /* our tracer is mapped */
	uint32_t python_minor; /* 12 of Python 3.12; 0 no Python */
};

/* From the text of /proc/PID/maps. Pure. */
struct level_zero_use level_zero_use_find(const char *maps, size_t length);

/* "1.32.0" of "/usr/lib/libze_loader.so.1.32.0"; false when the name has no such version. Pure. */
bool level_zero_version(const char *path, uint32_t version[3]);

/* Whether /proc/PID/environ, or /proc/PID/cmdline, turns Python's support for perf on. Pure. */
bool python_environment_has_perf(const char *text, size_t length);
bool python_command_has_perf(const char *text, size_t length);

#endif
