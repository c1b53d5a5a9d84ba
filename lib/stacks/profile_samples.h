/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a profile for formats such as those of pprof and OTLP. A stack's locations are its frames, with
 * inlined functions in the location that they are inlined into. The source file of device frames is that of their
 * functions, the offset is the instruction's address, in a mapping named after the device kernel, and the stall reason
 * is a label or a sample type.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "stacks/profile_tables.h"
#include "stacks/stack_text.h"

/* A value type, or one stall reason of it. */
struct sample_type {
	uint32_t value_type; /* index */
	uint32_t reason;     /* text; 0: all */
};

struct sample_value {
	uint32_t sample; /* id */
	uint32_t type;   /* position */
	uint64_t value;
	uint64_t count; /* number of samples */
};

struct sample_program {
	uint32_t mapping;
	uint64_t value;
};

struct profile_samples_options {
	struct stack_text_options text;
	bool by_reason;        /* each stall reason is a sample type */
	bool spans;            /* samples of different spans are separate */
	bool without_programs; /* stacks begin below the program, which table_sample.program names */
};

struct profile_samples {
	const struct iaprof_profile *profile;
	struct profile_samples_options options;
	struct profile_tables tables;
	ARRAY(struct sample_type) types;
	ARRAY(struct sample_value) values;
	uint32_t shown_type; /* 1 + the sample type that pprof shows first; 0 if none */
	/* Programs by file, with their values of that type; the hottest is the main binary. */
	ARRAY(struct sample_program) programs;
};

/* The caller frees them in any case. Returns false when out of memory. Valid for the lifetime of the profile. */
bool profile_samples_make(struct profile_samples *samples, const struct iaprof_profile *profile,
			  const struct profile_samples_options *options);
/* Returns the mapping of the main binary: of the program with the largest value; 0 if there are no mappings. */
uint32_t profile_samples_main_mapping(const struct profile_samples *samples);
void profile_samples_free(struct profile_samples *samples);
