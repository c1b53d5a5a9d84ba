/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the records of a capture. The file is read twice: what addresses mean was written after the samples that have
 * them, so names are sent first and then all the rest. What a SYNC put into the profile is sent before it: then the
 * intervals that end there are those of the recorded run.
 */
#ifndef IAPROF_PLUGINS_REPLAY_CAPTURE_REPLAY_H
#define IAPROF_PLUGINS_REPLAY_CAPTURE_REPLAY_H

#include <stdbool.h>
#include <iaprof/host.h>

#include "common/capture_format.h"
#include "replay_budget.h"
#include "replay_input.h"
#include "values.h"

/* Initialise with {0}. */
struct capture_replay {
	struct replay_input *input; /* borrowed */
	struct capture_reader reader;
	char *selected;  /* records of a block that are sent in this pass */
	bool has_values; /* the first pass saw PROFILE_VALUE records */
	struct replay_values values;
	struct replay_budget budget; /* its memory may be set before capture_replay_open() */
};

/* Reads the header. These return 0, or a negative errno after host->fail(). */
int capture_replay_open(struct capture_replay *capture, const struct iaprof_host *host, struct replay_input *input);
/* Sends everything; 0 as well when the run is to end before that. */
int capture_replay_run(struct capture_replay *capture, const struct iaprof_host *host);
void capture_replay_close(struct capture_replay *capture);

#endif
