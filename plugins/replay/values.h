/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the correlator of the recorded run put into the profile with a SYNC is in the capture after this SYNC: whatever
 * else came onto the bus meanwhile lies between. A reader of its own, which is ahead of the others, finds it in time.
 */
#ifndef IAPROF_PLUGINS_REPLAY_VALUES_H
#define IAPROF_PLUGINS_REPLAY_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "common/capture_format.h"

/* Initialise with {0}. */
struct replay_values {
	struct capture_reader reader; /* its wrong says why there is no more */
	/* its own */
	int descriptor;
	const volatile int *stopping;
	uint64_t offset;
	struct iaprof_batch batch;
	const struct iaprof_record *record; /* in batch, NULL before the first */
	bool is_given;                      /* record was found by the last call */
	bool ended;
};

/*
 * Starts at the beginning of a capture that can be read at any place, and is not closed here. stopping: not 0 when
 * reading is to end, with -ECANCELED. 0 or a negative errno.
 */
int replay_values_open(struct replay_values *values, int descriptor, const volatile int *stopping);
/*
 * Gives the next PROFILE_VALUE record if its time is at most until; good until the next call. 1; 0: it is later, or
 * there is none; a negative errno, of which -EBADMSG says that the rest of the file is damaged, once.
 */
int replay_values_next(struct replay_values *values, uint64_t until, const struct iaprof_record **found);
void replay_values_close(struct replay_values *values);

#endif
