/* SPDX-License-Identifier: Apache-2.0 */
/* The live view, on its own thread: neither keys nor a slow terminal block the sink. */
#pragma once

#include <iaprof/host.h>

#include "model.h"
#include "usage_records.h"
#include "view.h"

struct live;

struct live_options {
	struct view view;
	bool colour;
	bool recorded; /* the data is recorded: at its end, the view waits for the user */
};

/* Takes the terminal. Returns NULL after host->fail(). */
struct live *live_start(const struct iaprof_host *host, const struct live_options *options);
/* Adds the utilization of a batch. Called by one thread. */
void live_records(struct live *live, struct usage_records *usage, const struct iaprof_batch *batch);
/* Adds a profile, which the next screen shows. */
void live_add(struct live *live, const struct iaprof_profile *profile);
/* Restores the terminal and ends the thread. If waits, only after the user or a signal has ended the run. */
void live_end(struct live *live, bool waits);
