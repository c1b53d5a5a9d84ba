/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ahead to the values that the recorded run's correlator emitted for a SYNC: in the capture they follow the SYNC,
 * mixed with other records. A separate reader, ahead of the others, finds them in time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "capture/capture_format.h"

/* Initialise with {0}. */
struct value_reader {
	struct capture_reader reader; /* its member wrong explains why reading ended */
	/* Private members. */
	int descriptor;
	const volatile int *stopping;
	uint64_t offset;
	struct iaprof_batch batch;
	const struct iaprof_record *record; /* in batch; NULL before the first */
	bool is_given;                      /* the last call found record */
	bool ended;
};

/*
 * Starts at the beginning of a seekable capture, which is not closed here. stopping: nonzero ends reading with
 * -ECANCELED. Returns 0 or a negative errno.
 */
int value_reader_open(struct value_reader *values, int descriptor, const volatile int *stopping);
/*
 * Finds the next PROFILE_VALUE record if its time is at most until; it is valid until the next call. Returns 1, 0 if it
 * is later or there is none, or a negative errno: -EBADMSG, once, if the rest of the file is damaged.
 */
int value_reader_next(struct value_reader *values, uint64_t until, const struct iaprof_record **found);
void value_reader_close(struct value_reader *values);
