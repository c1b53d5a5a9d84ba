/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the records of a capture. The file is read twice: symbols were written after the samples that need them, so
 * definitions are sent first. The values that belong to a SYNC are sent before it, so the intervals are those of the
 * recorded run.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

#include "capture/capture_format.h"
#include "replay_budget.h"
#include "text/input_file.h"
#include "value_reader.h"

/* Initialise with {0}. */
struct capture_replay {
	struct input_file *input; /* borrowed */
	struct capture_reader reader;
	char *selected;  /* records of a block that are sent in this pass */
	bool has_values; /* the first pass found PROFILE_VALUE records */
	struct value_reader values;
	struct replay_budget budget;        /* its memory may be set before capture_replay_open() */
	uint32_t rows_name, overflows_name; /* string ids, 0 if none; for captures made before counters had a role */
};

/* Reads the header. These functions return 0, or a negative errno after host->fail(). */
int capture_replay_open(struct capture_replay *capture, const struct iaprof_host *host, struct input_file *input);
/* Sends everything. Returns 0 even if the run ends early. */
int capture_replay_run(struct capture_replay *capture, const struct iaprof_host *host);
void capture_replay_close(struct capture_replay *capture);
