/* SPDX-License-Identifier: Apache-2.0 */
/* The picture on the terminal, on a thread of its own: neither keys nor the terminal ever hold up the sink. */
#ifndef IAPROF_PLUGINS_TOP_LIVE_H
#define IAPROF_PLUGINS_TOP_LIVE_H

#include <iaprof/host.h>

#include "model.h"
#include "view.h"

struct live;

struct live_options {
	struct view view;
	bool colour;
	bool recorded; /* what is shown happened before: when it is all here, the picture waits for its user */
};

/* Takes the terminal. NULL after host->fail(). */
struct live *live_start(const struct iaprof_host *host, const struct live_options *options);
/* Adds a profile, which is seen at the next turn. */
void live_add(struct live *live, const struct iaprof_profile *profile);
/* Gives the terminal back and ends the thread; when it waits, not before the user, or a signal, ends the run. */
void live_end(struct live *live, bool waits);

#endif
