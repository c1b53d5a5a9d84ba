/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/option.h - a plugin's options as a table.
 *
 * The core parses, validates and documents options from this table: for `iaprof --help NAME`, the INI file and
 * `--source NAME:key=value`. Values are stored in the instance, at the given offset, before its first callback. The
 * table and its strings are the plugin's and stay valid as long as it is loaded. A table with a row that breaks a rule
 * below is an error when the plugin is loaded, as are two options with the same name or with overlapping storage.
 */
#ifndef IAPROF_OPTION_H
#define IAPROF_OPTION_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Syntax of the value -> type stored at the offset. */
enum iaprof_option_type {
	IAPROF_OPTION_BOOL = 1,     /* yes|no|true|false|on|off|1|0 -> bool (1 byte) */
	IAPROF_OPTION_UINT = 2,     /* decimal or 0x hexadecimal -> uint64_t, minimum..maximum */
	IAPROF_OPTION_DURATION = 3, /* number with ns, us, ms, s, m, h; default: unit, or s -> uint64_t nanoseconds */
	IAPROF_OPTION_SIZE = 4,     /* number with B, KiB, MiB, GiB, kB, MB, GB; default: bytes -> uint64_t bytes */
	IAPROF_OPTION_STRING =
		5, /* any text -> const char *, NULL if there is no default; valid for the instance's lifetime */
	IAPROF_OPTION_CHOICE = 6, /* one of choices -> uint64_t, its index */
	IAPROF_OPTION_DOUBLE = 7  /* decimal -> double, finite, minimum..maximum are integers */
};

enum iaprof_option_flag {
	/*
	 * Sink, STRING: names a file or folder that only one sink of a run can use. Two instances of the plugin with
	 * the same value, or with paths of the same file or folder, are an error of configuration.
	 */
	IAPROF_OPTION_EXCLUSIVE = 1u << 0
};

/* One row of the table. A plugin's table is a const array; its length is option_count, at most 256. */
struct iaprof_option {
	/* Lower-case letters, digits, '-', at most 63, unique: "frequency". Reserved for keys that the core adds to
	   each instance: "isolate"; in sources also "optional", in sinks "output". */
	const char *name;
	uint32_t type;             /* enum iaprof_option_type */
	uint32_t flags;            /* enum iaprof_option_flag */
	size_t offset;             /* offsetof() in the instance struct, aligned for the stored type */
	const char *default_value; /* in the syntax of the user, in range; NULL: zero, false or no text */
	const char *help; /* one sentence, no line breaks, at most 1000 bytes: the option's effect; the core adds unit,
			     range and default */
	/* Numbers, durations and sizes: smallest and largest value, in the stored unit; maximum 0: no limit. */
	uint64_t minimum;
	uint64_t maximum;
	const char *const *choices; /* IAPROF_OPTION_CHOICE: NULL-terminated, 1 to 64, each at most 63 bytes */
	const char *unit; /* unit of a plain number, for --help: "Hz"; default unit of a duration: "ms"; may be NULL */
	/* A shorter row lacks it. */
	const char *alias; /* source: --ALIAS VALUE on the command line and ALIAS = VALUE in section [iaprof] of the
			      configuration file set the option in every source of the run with this alias; syntax as
			      name; NULL: none */
};
IAPROF_ASSERT_SIZE(iaprof_option, 80);

/*
 * Initialises a row for member MEMBER of the instance struct STRUCT. KIND is an enum iaprof_option_type without its
 * prefix. The arguments after DEFAULT are the help text and any further members:
 *
 *     IAPROF_OPTION(struct timer, period, DURATION, "period", "100ms", "Time between samples", .minimum = 1000000),
 */
#define IAPROF_OPTION(STRUCT, MEMBER, KIND, NAME, DEFAULT, ...)                                                        \
	{                                                                                                              \
		.name = (NAME), .type = IAPROF_OPTION_##KIND, .offset = offsetof(STRUCT, MEMBER),                      \
		.default_value = (DEFAULT), .help = __VA_ARGS__                                                        \
	}

#ifdef __cplusplus
}
#endif
#endif
