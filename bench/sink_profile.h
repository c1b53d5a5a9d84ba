/* SPDX-License-Identifier: Apache-2.0 */
/* A profile in memory, of as many different stacks as asked for, and the sinks that benchmarks hand it to. */
#pragma once

#include <iaprof/profile.h>

#include "profile/snapshot.h"

/* Functions above the program in a stack of a CPU. */
#define SINK_PROFILE_DEPTH 30u
#define SINK_PROFILE_FUNCTIONS 2000u
#define SINK_PROFILE_NAME_MAX 64u

enum sink_profile_shape {
	SINK_PROFILE_CPU,     /* stacks that part evenly from the program to the leaf */
	SINK_PROFILE_THREADS, /* the same, each of one of several threads in turn */
	SINK_PROFILE_GPU      /* a caller, then the source, kernel, instruction, stall reason and offset of a device */
};

struct sink_profile {
	struct frame_table frames;
	struct value_table values;
	struct iaprof_value_type value_type;
	struct snapshot *snapshot;
};

/* Ends the benchmark when there is not enough memory. */
void sink_profile_make(struct sink_profile *profile, enum sink_profile_shape shape, uint32_t stacks);
void sink_profile_free(struct sink_profile *profile);

/* Of a profile of the shape SINK_PROFILE_CPU: the number of the function at a level, its name, what a stack weighs. */
unsigned sink_profile_function(uint32_t stacks, uint32_t stack, unsigned level);
void sink_profile_function_name(unsigned function, char name[SINK_PROFILE_NAME_MAX]);
uint64_t sink_profile_value(uint32_t stacks, uint32_t stack);

/*
 * CPU time in which a sink writes a profile to a complete file, as after -k ARGUMENT -o OUTPUT. Ends the benchmark when
 * it cannot.
 */
double sink_write_seconds(const char *plugin, const char *argument, const char *output,
			  const struct sink_profile *profile);

/* A whole file, with size bytes. Ends the benchmark when it cannot be read. */
char *file_read(const char *path, size_t *size);

/* CPU time of a plain write of bytes to a new file. */
double file_write_seconds(const char *bytes, size_t size, const char *path);

/* Ends the benchmark, unless what it needs is good. */
void need(bool good, const char *what);
