/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a pprof profile, from the stacks of one of iaprof's. A stack's locations are its frames, with inlined
 * functions at the place that they are inlined into. Of a device's frames the source file is that of its functions,
 * the offset is the instruction's address, in a mapping of the GPU kernel's name, and the stall reason is a label or a
 * sample type.
 */
#ifndef IAPROF_PLUGINS_PPROF_SAMPLES_H
#define IAPROF_PLUGINS_PPROF_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "tables.h"

/* A value type, or what waited for one reason of it. */
struct sample_type {
	uint32_t value_type; /* index */
	uint32_t reason;     /* text; 0: all */
};

struct sample {
	uint32_t first, count; /* location ids, the leaf first */
	uint32_t reason;       /* text; 0 none */
	uint32_t pid;          /* 0 not known */
};

struct samples {
	const struct iaprof_profile *profile;
	bool by_reason; /* each stall reason is a sample type */
	struct tables tables;
	struct table types;     /* struct sample_type */
	struct table items;     /* struct sample */
	struct table locations; /* uint32_t */
	struct table values;    /* struct sample_value, by sample */
	uint32_t device_type;   /* 1 + the first sample type that has values of a device; 0 none */
};

struct sample_value {
	uint32_t sample; /* position */
	uint32_t type;   /* position */
	uint64_t value;
};

/* Free them in any case. False when out of memory. Valid as long as the profile is. */
bool samples_make(struct samples *samples, const struct iaprof_profile *profile, bool by_reason);
void samples_free(struct samples *samples);

#endif
