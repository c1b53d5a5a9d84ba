/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stall samples that were matched, added up by CPU stack and place in device code, and from time to time put into the
 * profile as whole stacks: program, CPU frames, "-", device frames, stall reason, offset. What is put there is told the
 * bus too (PROFILE_STACK and PROFILE_VALUE records), for replays. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_STACKS_H
#define IAPROF_CORE_CORRELATOR_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "correlator/devices.h"
#include "correlator/places.h"
#include "profile/frame_table.h"
#include "profile/time_table.h"
#include "profile/time_values.h"
#include "profile/value_table.h"

/* No padding: it is compared as bytes. */
struct stacks_key {
	uint32_t prefix; /* index of a resolved stack */
	uint32_t place;
	uint32_t source;    /* whose stall reasons they are */
	uint32_t ambiguous; /* 0 or 1: others may be behind it as well */
	uint32_t reasons;   /* how many stall reasons have a sum: stacks_reasons() */
};

/* Room for the reasons of a sample: few different numbers, so that samples of one place meet in one entry. */
static inline uint32_t stacks_reasons(uint32_t reason_count)
{
	return (reason_count + 15) & ~UINT32_C(15);
}

struct stacks_entry {
	struct stacks_key key;
	uint32_t sums; /* position of its first sum: one for each stall reason */
};

/* Counts of a stall reason, and the stack that they are put under. */
struct stacks_sum {
	uint64_t count;
	uint32_t stack; /* index of the whole stack, FRAME_NONE: not made yet */
	uint32_t times; /* list of when they were taken */
};

/* Initialise with {0}, the first members and waiting_times. */
struct stacks {
	struct intern *intern;
	struct frame_table *frames;
	struct value_table *values;
	struct time_table *times; /* NULL: nobody asks for times */
	const struct devices *devices;
	struct places *places;
	struct bus *bus;        /* NULL: nobody wants records */
	uint32_t value_type;    /* index, where values go; LOSS_NO_VALUE_TYPE: there was no room for it */
	uint32_t value_type_id; /* the same for the bus */
	ARRAY(struct stacks_entry) entries;
	ARRAY(struct stacks_sum) sums;
	struct hash_index index;
	struct time_values waiting_times; /* of sums */
	ARRAY(uint8_t) told;              /* by stack: its definition was sent */
	bool pending;
	uint64_t out_of_memory; /* samples */
};

void stacks_free(struct stacks *stacks);

/* Adds samples of one reason, which is below key->reasons, and were taken between two times. */
void stacks_add(struct stacks *stacks, const struct stacks_key *key, uint32_t reason, uint64_t begin, uint64_t end,
		uint64_t count);

/* Puts everything into the profile. time: what a PROFILE_VALUE record has (record.h). */
void stacks_flush(struct stacks *stacks, uint64_t time);

#endif
