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
	/* ns: the longest time over which a source added values up before it told them; 0 not known */
	uint64_t added_up_over;
	/* Of a difference: what earlier values are multiplied by, so that they compare with later ones. Else 0. */
	double before_factor;
};

/* What was added within a slot of time; see struct iaprof_profile.times. A (time, stack, value type) occurs once. */
struct iaprof_time_value {
	uint64_t time;       /* when the slot begins, CLOCK_MONOTONIC ns: a multiple of its width */
	uint32_t stack;      /* index of a stack; UINT32_MAX: all stacks together */
	uint32_t value_type; /* index of a value type */
	uint64_t value;      /* >= 1 */
};

/* A file that frames are in. */
struct iaprof_module {
	const char *path;     /* as in struct iaprof_frame.module */
	const char *build_id; /* what the linker put into it to tell builds apart, in hexadecimal */
};

/* One value of the profile. A (stack, value type) pair occurs once. */
struct iaprof_value {
	uint32_t stack;      /* index of a stack */
	uint32_t value_type; /* index of a value type */
	uint64_t value;
	uint64_t count; /* samples that it comes from */
	/* Of a difference: the same in the earlier run, as they were there. Else 0. */
	uint64_t before;
	uint64_t before_count;
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
	/* Of a difference: count, value and unknown of the earlier run. Else 0. */
	uint64_t before_count;
	uint64_t before_value;
	uint32_t before_unknown;
	uint32_t pad;
};

enum iaprof_profile_flag {
	IAPROF_PROFILE_FINAL = 1u << 0, /* the last one of the run */
	IAPROF_PROFILE_TOTAL = 1u << 1, /* the values are of the whole run, not of one interval */
	/*
	 * Two runs: each value has that of the same stack in an earlier run beside it, and either can be 0. Stacks are
	 * the same when a reader cannot tell them apart: frames have no pid, address or offset, and offsets of device
	 * instructions are left out. Only sinks with IAPROF_PLUGIN_DIFFERENCES get such a profile.
	 */
	IAPROF_PROFILE_DIFFERENCE = 1u << 2
};

/* How a difference makes earlier values comparable with later ones. */
enum iaprof_normalization {
	IAPROF_NORMALIZATION_NONE = 0,  /* they are as they were */
	IAPROF_NORMALIZATION_TOTAL = 1, /* both runs have the same total of a value type, unless one of them has none */
	IAPROF_NORMALIZATION_DURATION = 2 /* as if both runs had taken the time of the later one */
};

/* Also part of every profile, as rows of values: lost amounts, under the stack [lost];SOURCE;REASON. */
struct iaprof_profile {
	uint32_t size;     /* sizeof(struct iaprof_profile) in the core */
	uint32_t flags;    /* enum iaprof_profile_flag */
	uint32_t interval; /* 0, 1, 2, ... */
	uint32_t pad;
	uint64_t begin; /* CLOCK_MONOTONIC ns */
	uint64_t end;
	uint64_t begin_realtime; /* begin as CLOCK_REALTIME ns; 0: not known */

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

	/*
	 * Appended: a shorter struct has none. When values were added, for sinks that asked for it by
	 * host->request_times(); in no order. Slots become wider, by twos, when there are very many: time_width is that
	 * of times; of time_totals, which are of all stacks together, total_width, which is finer or the same. What was
	 * added over a time that covers several slots is divided among them by how long it was in each. Values whose
	 * time nobody knows are in neither.
	 */
	const void *times;
	size_t time_count;
	size_t time_size;
	uint64_t time_width; /* ns, 0: nobody asked */
	const void *time_totals;
	size_t time_total_count;
	uint64_t total_width; /* ns */

	/* Of a difference: those of the earlier run. Else 0 and NULL. */
	uint64_t before_begin;
	uint64_t before_end;
	uint64_t before_begin_realtime;
	const char *const *before_metadata;
	uint32_t normalization; /* enum iaprof_normalization */
	uint32_t pad2;

	/* Modules whose build id is known; one that was replaced during the run is there with each. */
	const void *modules;
	size_t module_count;
	size_t module_size;

	/* Jobs of devices that are over, since the run began, whatever the values are of. */
	uint64_t jobs_done;
	uint64_t jobs_aborted;
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
static inline const struct iaprof_time_value *iaprof_profile_time(const struct iaprof_profile *profile, size_t index)
{
	return (const struct iaprof_time_value *)((const char *)profile->times + index * profile->time_size);
}
static inline const struct iaprof_time_value *iaprof_profile_time_total(const struct iaprof_profile *profile,
									size_t index)
{
	return (const struct iaprof_time_value *)((const char *)profile->time_totals + index * profile->time_size);
}
/* How many modules there are to ask for; those of cores that know of none are 0. */
static inline size_t iaprof_profile_module_count(const struct iaprof_profile *profile)
{
	return profile->size >= offsetof(struct iaprof_profile, module_size) + sizeof profile->module_size
		       ? profile->module_count
		       : 0;
}
static inline const struct iaprof_module *iaprof_profile_module(const struct iaprof_profile *profile, size_t index)
{
	return (const struct iaprof_module *)((const char *)profile->modules + index * profile->module_size);
}

#ifdef __cplusplus
}
#endif
#endif
