/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/profile.h - the profile passed to sinks: resolved stacks with values.
 *
 * All data is owned by the core and valid for the duration of the callback; strings stay valid until finish() returns,
 * except those of IAPROF_PROFILE_CONTINUOUS profiles.
 * Arrays have a stride (NAME_size), because their elements may grow: use the accessors below, which do not check the
 * index. An array without elements may be NULL. Sums saturate at 2^64 - 1. Names are arbitrary bytes
 * controlled by other users' programs: a sink must escape them for its format.
 */
#ifndef IAPROF_PROFILE_H
#define IAPROF_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/activity.h>
#include <iaprof/layout.h>
#include <iaprof/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One frame of a stack. Strings are never NULL unless stated. */
struct iaprof_frame {
	const char *name;   /* demangled function, program name, instruction, ... */
	const char *module; /* file or module that contains it; of a process, its service, if that is known: the
			       container or the unit of systemd; NULL if none */
	const char *file;   /* source file; NULL if unknown or not requested */
	uint32_t line;      /* source line, 0 if unknown */
	uint32_t kind;      /* enum iaprof_frame_kind */
	uint32_t flags;     /* enum iaprof_frame_flag */
	uint32_t pid;       /* for IAPROF_FRAME_PROCESS if pids were requested or the stack reaches a device; else 0 */
	uint64_t address;   /* as in struct iaprof_record_frame; 0 if frames of several addresses were merged */
	uint64_t offset;    /* IAPROF_FRAME_DEVICE_OFFSET: bytes from the kernel's start; producers: likewise, in their
			       kernel */
	/* Profiles of earlier versions lack it: use iaprof_profile_kernel_class(). */
	const char *kernel_class; /* by the rules of the run; IAPROF_FRAME_DEVICE_FUNCTION: what kind of kernel has this
				     name: "attention"; code of the CPU: what code of libraries does: "allocation";
				     NULL: no rule matches */
};
IAPROF_ASSERT_SIZE(iaprof_frame, 64);

/*
 * Where the samples of a stack were taken, for sinks that requested IAPROF_REQUEST_THREADS. Of device samples, thread
 * and tid are those of the launch. A process with too many threads has stacks with a name and tid 0, for all further
 * threads of that name. Within a profile, names that are equal have the same address.
 */
struct iaprof_stack_origin {
	const char *thread; /* name of the thread; NULL: not known */
	const char *device; /* "Accelerator 4000 tile 0", unique among devices; NULL: not a device's, or not known */
	uint32_t tid;       /* 0: not known, or several threads */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_stack_origin, 24);

/* A resolved stack: ids of its frames, root (program) first. */
struct iaprof_stack {
	const uint32_t *frames;
	uint32_t frame_count; /* >= 1 */
	uint32_t pad;
	struct iaprof_stack_origin origin; /* all members are 0 unless requested */
	struct iaprof_span span; /* use iaprof_profile_stack_span(); for sinks that requested IAPROF_REQUEST_SPANS */
};
IAPROF_ASSERT_SIZE(iaprof_stack, 64);

struct iaprof_value_type {
	const char *name; /* "cpu" */
	const char *unit; /* "nanoseconds" */
	uint64_t period;  /* usual value of one sample, 0 if none */
	/* Longest time over which a source aggregated values before reporting them, in ns; 0 if unknown. */
	uint64_t added_up_over;
	/* Differential profiles: factor that makes earlier values comparable with later ones. Otherwise 0. */
	double before_factor;
	uint32_t role;           /* enum iaprof_value_role */
	uint32_t device_kind;    /* enum iaprof_device_kind: of the devices that it is measured on */
	const char *sample_unit; /* what one device sample is taken of: "EU", "scheduler"; NULL: not known */
	uint32_t flags;          /* enum iaprof_value_flag */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_value_type, 64);

/* Value added within a time slot; see struct iaprof_profile.times. Each (time, stack, value type) occurs once. */
struct iaprof_time_value {
	uint64_t time;       /* start of the slot, CLOCK_MONOTONIC ns: a multiple of its width */
	uint32_t stack;      /* index of a stack; UINT32_MAX: all stacks together */
	uint32_t value_type; /* index of a value type */
	uint64_t value;      /* >= 1 */
};
IAPROF_ASSERT_SIZE(iaprof_time_value, 24);

/* A file that contains frames' code. */
struct iaprof_module {
	const char *path;     /* as in struct iaprof_frame.module */
	const char *build_id; /* build id written by the linker, in hexadecimal */
};
IAPROF_ASSERT_SIZE(iaprof_module, 16);

/* One value of the profile. Each (stack, value type) pair occurs once. */
struct iaprof_value {
	uint32_t stack;      /* index of a stack */
	uint32_t value_type; /* index of a value type */
	uint64_t value;      /* in the unit of the value type */
	uint64_t count;      /* number of samples */
	/* Differential profiles: value and count in the earlier run, not scaled. Otherwise 0. */
	uint64_t before;
	uint64_t before_count;
};
IAPROF_ASSERT_SIZE(iaprof_value, 40);

/* Lost events, by source, reason and value type; after 256, further ones are "other reasons" of their source. */
struct iaprof_lost {
	const char *source;
	const char *reason;
	uint64_t count;      /* events; IAPROF_COUNT_UNKNOWN counts as 0 and increments unknown */
	uint64_t value;      /* what the events would have added, 0 if unknown */
	uint32_t value_type; /* index of a value type, UINT32_MAX if none */
	uint32_t unknown;    /* losses whose number of events was not known */
	uint64_t begin, end; /* time range, CLOCK_MONOTONIC ns */
	/* Differential profiles: count, value and unknown in the earlier run. Otherwise 0. */
	uint64_t before_count;
	uint64_t before_value;
	uint32_t before_unknown;
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_lost, 80);

enum iaprof_profile_flag {
	IAPROF_PROFILE_FINAL = 1u << 0, /* the last profile of the run */
	IAPROF_PROFILE_TOTAL = 1u << 1, /* values cover the whole run, not one interval */
	/*
	 * Differential profile of two runs: each value is paired with that of the same stack in an earlier run; either
	 * can be 0. Stacks are compared as displayed: frames have no pid, address or offset, and offsets of device
	 * instructions are omitted; frames have lines if a sink requested IAPROF_REQUEST_LINES, and device instructions
	 * also if one requested IAPROF_REQUEST_LISTINGS. Only sinks with IAPROF_PLUGIN_DIFFERENCES receive such a
	 * profile.
	 */
	IAPROF_PROFILE_DIFFERENCE = 1u << 2,
	/*
	 * Profile of a continuous run: numbers of frames and stacks and all strings are valid for the duration of the
	 * callback only, and the next profile may use them for something else. In other runs they stay the same.
	 */
	IAPROF_PROFILE_CONTINUOUS = 1u << 3
};

/* How a differential profile scales earlier values for comparison with later ones. */
enum iaprof_normalization {
	IAPROF_NORMALIZATION_NONE = 0,    /* not scaled */
	IAPROF_NORMALIZATION_TOTAL = 1,   /* to equal totals of each value type, unless one of them is 0 */
	IAPROF_NORMALIZATION_DURATION = 2 /* to the duration of the later run */
};

/* Lost values are also part of values, under the stack [lost];SOURCE;REASON. */
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

	const char *const *metadata; /* key, value, key, value, ..., NULL; at most 256 keys */

	/*
	 * Values by time slot, for sinks that called host->request_times();
	 * unordered. When there are too many slots, their width is doubled: time_width is the width of slots in times;
	 * total_width, the same or finer, is the width in time_totals, which sum all stacks. A value added over a time
	 * range that covers several slots is divided among them in proportion to the overlap. Values with unknown times
	 * are in neither.
	 */
	const void *times;
	size_t time_count;
	size_t time_size;
	uint64_t time_width; /* ns, 0: not requested */
	const void *time_totals;
	size_t time_total_count;
	uint64_t total_width; /* ns */

	/* Differential profiles: the same for the earlier run. Otherwise 0 and NULL. */
	uint64_t before_begin;
	uint64_t before_end;
	uint64_t before_begin_realtime;
	const char *const *before_metadata;
	uint32_t normalization; /* enum iaprof_normalization */
	uint32_t pad2;

	/* Modules with known build ids; a module that was replaced during the run appears once for each build id. */
	const void *modules;
	size_t module_count;
	size_t module_size;

	/* Device jobs finished since the run began, independent of the interval of values. */
	uint64_t jobs_done;
	uint64_t jobs_aborted;

	/* Calls, jobs, counters, histograms and findings since the run began, for sinks that requested
	   IAPROF_REQUEST_ACTIVITY; NULL in differential profiles. Only IAPROF_PROFILE_FINAL and IAPROF_PROFILE_TOTAL
	   profiles have tracks and points of counters. Without that request, IAPROF_PROFILE_TOTAL profiles have calls,
	   histograms and findings. */
	const struct iaprof_activity *activity;

	/*
	 * Differential profiles: the profiles of the two runs, for what cannot be compared stack by stack, such as
	 * times and addresses, and for each of their stacks its index in this profile, or UINT32_MAX. Otherwise NULL.
	 */
	const struct iaprof_profile *before_profile;
	const struct iaprof_profile *after_profile;
	const uint32_t *before_stacks;
	const uint32_t *after_stacks;
};
IAPROF_ASSERT_SIZE(iaprof_profile, 344);

static inline const struct iaprof_frame *iaprof_profile_frame(const struct iaprof_profile *profile, uint32_t id)
{
	return (const struct iaprof_frame *)((const char *)profile->frames + id * profile->frame_size);
}
/* Returns the class of a kernel, NULL if none is known. */
static inline const char *iaprof_profile_kernel_class(const struct iaprof_profile *profile, uint32_t frame)
{
	const struct iaprof_frame *found = iaprof_profile_frame(profile, frame);
	return IAPROF_HAS_MEMBER(found, profile->frame_size, kernel_class) ? found->kernel_class : (const char *)0;
}
static inline const struct iaprof_stack *iaprof_profile_stack(const struct iaprof_profile *profile, uint32_t index)
{
	return (const struct iaprof_stack *)((const char *)profile->stacks + index * profile->stack_size);
}
/* Returns the span that the threads of a stack were working on; NULL if there is none. */
static inline const struct iaprof_span *iaprof_profile_stack_span(const struct iaprof_profile *profile, uint32_t index)
{
	const struct iaprof_span *span = &iaprof_profile_stack(profile, index)->span;
	return iaprof_span_is_valid(span) ? span : (const struct iaprof_span *)0;
}
/* Returns the class of the kernel in a stack, NULL if it has none. */
static inline const char *iaprof_profile_stack_kernel_class(const struct iaprof_profile *profile, uint32_t index)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	for (uint32_t i = 0; i < stack->frame_count; i++)
		if (iaprof_profile_frame(profile, stack->frames[i])->kind == IAPROF_FRAME_DEVICE_FUNCTION)
			return iaprof_profile_kernel_class(profile, stack->frames[i]);
	return (const char *)0;
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
static inline const struct iaprof_module *iaprof_profile_module(const struct iaprof_profile *profile, size_t index)
{
	return (const struct iaprof_module *)((const char *)profile->modules + index * profile->module_size);
}

#ifdef __cplusplus
}
#endif
#endif
