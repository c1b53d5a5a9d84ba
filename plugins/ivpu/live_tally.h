/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tally of calls that the Linux kernel has added up: what came in one turn has no order any more, so events are
 * taken in the order in which they can only have happened. Belongs to one thread.
 */
#ifndef IAPROF_PLUGINS_IVPU_LIVE_TALLY_H
#define IAPROF_PLUGINS_IVPU_LIVE_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include "overview.h"
#include "tally.h"

/* Initialise with {0}. */
struct live_tally {
	struct ivpu_running running;
	struct ivpu_overview overview;
	struct {
		uint64_t count, first_time, last_time;
	} turn[IVPU_EVENT_COUNT]; /* of the turn that goes on */
	uint64_t window_begin, window_messages;
};

/* Calls of a function; in_boot: made while the driver waits for the firmware to boot, where messages are polled for. */
void live_tally_add(struct live_tally *tally, const struct ivpu_function *function, uint64_t count, uint64_t first_time,
		    uint64_t last_time, bool in_boot);
/* When the first turn begins. */
void live_tally_begin(struct live_tally *tally, uint64_t time);
/* Everything up to a time has been added. */
void live_tally_end_turn(struct live_tally *tally, uint64_t time);
/* What is known at the end of a turn. */
struct ivpu_tally live_tally_result(const struct live_tally *tally);

#endif
