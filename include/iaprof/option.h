/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/option.h - a plugin's options as a table.
 *
 * The core parses, checks and documents them: `iaprof --help NAME`, the INI file and `--source NAME:key=value` all come
 * from this table. Values are stored in the instance, at the given offset, before its first callback.
 */
#ifndef IAPROF_OPTION_H
#define IAPROF_OPTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is written and what is stored at the offset. */
enum iaprof_option_type {
	IAPROF_OPTION_BOOL = 1,     /* yes|no|true|false|on|off|1|0 -> bool (1 byte) */
	IAPROF_OPTION_UINT = 2,     /* decimal or 0x hexadecimal -> uint64_t, minimum..maximum */
	IAPROF_OPTION_DURATION = 3, /* number with ns, us, ms, s, m, h; no unit: unit, or s -> uint64_t nanoseconds */
	IAPROF_OPTION_SIZE = 4,     /* number with B, KiB, MiB, GiB, kB, MB, GB; no unit: bytes -> uint64_t bytes */
	IAPROF_OPTION_STRING =
		5, /* any text -> const char *, NULL when there is no default; lives as long as the instance */
	IAPROF_OPTION_CHOICE = 6, /* one of choices -> uint64_t, its index */
	IAPROF_OPTION_DOUBLE = 7  /* decimal -> double, finite, minimum..maximum as whole numbers */
};

/* One row of the table. A plugin's table is a const array; its length is option_count. */
struct iaprof_option {
	const char *name;          /* lower-case letters, digits, '-' : "frequency" */
	uint32_t type;             /* enum iaprof_option_type */
	uint32_t flags;            /* 0 */
	size_t offset;             /* offsetof() in the instance struct */
	const char *default_value; /* as the user would write it; NULL: zero, false or no text */
	const char *help; /* one sentence, no line breaks: what it does; the core adds unit, range and default */
	uint64_t minimum; /* smallest value, in what is stored */
	uint64_t maximum; /* largest; 0: no limit */
	const char *const *choices; /* IAPROF_OPTION_CHOICE: NULL-terminated */
	const char *unit; /* of a plain number, for help: "Hz"; of a duration, what one without a unit is in: "ms"; may
			     be NULL */
};

#ifdef __cplusplus
}
#endif
#endif
