/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributed stall samples, summed by CPU stack and location in device code, and periodically added to the profile as
 * complete stacks: program, CPU frames, "-", device frames, stall reason, offset. The same is written to the result
 * stream (PROFILE_STACK and PROFILE_VALUE records), for replays. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "bus/result_stream.h"
#include "correlator/sampled_devices.h"
#include "correlator/code_locations.h"
#include "symbolizer/frame_table.h"
#include "correlator/correlator_output.h"
#include "correlator/time_values.h"

/* No padding: it is compared as bytes. */
struct device_stack_key {
	uint32_t launch_stack; /* index of a resolved stack */
	uint32_t location;
	uint32_t source;     /* source of the stall reasons */
	uint32_t ambiguous;  /* 0 or 1: other launches are possible */
	uint32_t reasons;    /* number of stall reasons with a sum: stacks_reasons() */
	uint32_t value_type; /* position in value_types */
	uint32_t device;     /* as in struct stack_origin */
	uint32_t span;       /* as in struct stack_origin */
	uint32_t is_job;     /* 0 or 1: ends at the kernel, without a reason and an offset */
};

/* Limit on value types; devices beyond it are counted under the first. */
#define DEVICE_STACKS_VALUE_TYPES_MAX 16

struct device_stacks_value_type {
	uint32_t index; /* as returned by output->declare_value_type() */
	uint32_t id;    /* the same, for records */
	uint32_t flags; /* enum iaprof_value_flag: declared */
};

/* Rounds up the number of reasons to one of a few values, so that samples of one location share an entry. */
static inline uint32_t stacks_reasons(uint32_t reason_count)
{
	return (reason_count + 15) & ~UINT32_C(15);
}

struct device_stack {
	struct device_stack_key key;
	uint32_t sums; /* position of its first sum: one for each stall reason */
};

/* Counts of a stall reason, and their stack. */
struct device_stacks_sum {
	uint64_t count, value;
	uint32_t stack; /* index of the complete stack, FRAME_NONE: not built yet */
	uint32_t times; /* list of sample times */
};

/* Initialise with {0}, the first members and waiting_times. */
struct device_stacks {
	struct frame_table *frames;
	const struct correlator_output *output;
	const struct sampled_devices *devices;
	struct code_locations *locations;
	struct result_stream *results;
	struct device_stacks_value_type value_types[DEVICE_STACKS_VALUE_TYPES_MAX];
	uint32_t value_type_count;
	KEYED_ARRAY(struct device_stack) entries;
	ARRAY(struct device_stacks_sum) sums;
	struct time_values waiting_times; /* times of waiting sums */
	ARRAY(uint8_t) sent;              /* by stack: whether its definition was sent */
	uint32_t sent_before;             /* highest id of stacks that were forgotten */
	bool pending;
	uint64_t out_of_memory; /* samples */
};

void device_stacks_free(struct device_stacks *stacks);
/* Forgets everything that refers to the frame table, and the locations; after device_stacks_flush(). */
void device_stacks_forget(struct device_stacks *stacks);

/*
 * Adds samples of one reason (below key->reasons), taken between two times, with their value. *entry: position of the
 * key's entry, which is looked up if it is DEVICE_STACKS_ENTRY_NONE; valid until device_stacks_flush().
 */
void device_stacks_add(struct device_stacks *stacks, const struct device_stack_key *key, uint32_t *entry,
		       uint32_t reason, uint64_t begin, uint64_t end, uint64_t count, uint64_t value);
#define DEVICE_STACKS_ENTRY_NONE UINT32_MAX

/* Adds everything to the profile. time: time of the PROFILE_VALUE records (record.h). */
void device_stacks_flush(struct device_stacks *stacks, uint64_t time);
