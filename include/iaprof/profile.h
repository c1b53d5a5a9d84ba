/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/profile.h - a profile as a sink sees it: resolved stacks with values.
 *
 * Everything is owned by the core and stays valid for the time of the callback; texts stay valid until finish()
 * returns. Arrays have a stride (NAME_size), because their elements may grow: use the accessors below.
 * Names are arbitrary bytes that other users' programs chose: a sink makes them safe for its format.
 */
#ifndef IAPROF_PROFILE_H
#define IAPROF_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One frame of a stack. Strings are never NULL except where said. */
struct iaprof_frame {
	const char *name;   /* demangled function, program name, instruction, ... */
	const char *module; /* file or module that it is in; NULL none */
	const char *file;   /* source file; NULL not known or not asked for */
	uint32_t line;      /* source line, 0 not known */
	uint32_t kind;      /* enum iaprof_frame_kind */
	uint32_t flags;     /* enum iaprof_frame_flag */
	uint32_t pid;       /* IAPROF_FRAME_PROCESS when pids were asked for, or the stack reaches a device; else 0 */
	uint64_t address;   /* as in struct iaprof_record_frame; 0 when frames of several addresses are one */
	uint64_t offset;    /* IAPROF_FRAME_DEVICE_OFFSET: bytes from the start of the kernel; producers: of theirs */
};

/* A resolved stack: ids of its frames, the root (program) first. */
struct iaprof_stack {
	const uint32_t *frames;
	uint32_t frame_count; /* >= 1 */
	uint32_t pad;
};

struct iaprof_value_type {
	const char *name; /* "cpu" */
	const char *unit; /* "nanoseconds" */
	uint64_t period;  /* usual value of one sample, 0 none */
};

/* One value of the profile. A (stack, value type) pair occurs once. */
struct iaprof_value {
	uint32_t stack;      /* index of a stack */
	uint32_t value_type; /* index of a value type */
	uint64_t value;
	uint64_t count; /* samples that it comes from */
};

/* What is missing, by source and reason. */
struct iaprof_lost {
	const char *source;
	const char *reason;
	uint64_t count;      /* events; IAPROF_COUNT_UNKNOWN is added up as 0 and sets unknown */
	uint64_t value;      /* what they would have added, 0 not known */
	uint32_t value_type; /* index of a value type, UINT32_MAX none */
	uint32_t unknown;    /* how many times the number of events was not known */
	uint64_t begin, end; /* time range */
};

enum iaprof_profile_flag {
	IAPROF_PROFILE_FINAL = 1u << 0, /* the last one of the run */
	IAPROF_PROFILE_TOTAL = 1u << 1  /* the values are of the whole run, not of one interval */
};

/* Also part of every profile, as rows of values: lost amounts, under the stack [lost];SOURCE;REASON. */
struct iaprof_profile {
	uint32_t size;     /* sizeof(struct iaprof_profile) in the core */
	uint32_t flags;    /* enum iaprof_profile_flag */
	uint32_t interval; /* 0, 1, 2, ... */
	uint32_t pad;
	uint64_t begin; /* CLOCK_MONOTONIC ns */
	uint64_t end;
	uint64_t begin_realtime; /* begin as CLOCK_REALTIME ns */

	const void *frames;
	size_t frame_count;
	size_t frame_size; /* see iaprof_profile_frame() */
	const void *stacks;
	size_t stack_count;
	size_t stack_size;
	const void *value_types;
	size_t value_type_count;
	size_t value_type_size;
	const void *values;
	size_t value_count;
	size_t value_size;
	const void *lost;
	size_t lost_count;
	size_t lost_size;

	const char *const *metadata; /* key, value, key, value, ..., NULL */
};

static inline const struct iaprof_frame *iaprof_profile_frame(const struct iaprof_profile *profile, uint32_t id)
{
	return (const struct iaprof_frame *)((const char *)profile->frames + id * profile->frame_size);
}
static inline const struct iaprof_stack *iaprof_profile_stack(const struct iaprof_profile *profile, uint32_t index)
{
	return (const struct iaprof_stack *)((const char *)profile->stacks + index * profile->stack_size);
}
static inline const struct iaprof_value_type *iaprof_profile_value_type(const struct iaprof_profile *profile,
									uint32_t index)
{
	return (const struct iaprof_value_type *)((const char *)profile->value_types +
						  index * profile->value_type_size);
}
static inline const struct iaprof_value *iaprof_profile_value(const struct iaprof_profile *profile, size_t index)
{
	return (const struct iaprof_value *)((const char *)profile->values + index * profile->value_size);
}
static inline const struct iaprof_lost *iaprof_profile_lost(const struct iaprof_profile *profile, size_t index)
{
	return (const struct iaprof_lost *)((const char *)profile->lost + index * profile->lost_size);
}

#ifdef __cplusplus
}
#endif
#endif
