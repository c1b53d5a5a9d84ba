/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP: the first one ends the run cleanly, the second one immediately. In a continuous run,
 * SIGHUP asks for a new configuration instead.
 */
#pragma once

#include <stdbool.h>

#include "bus/loop.h"

/*
 * Handles the signals by waking the loop, even if iaprof's caller ignores them, except SIGHUP; ignores SIGPIPE: a
 * closed pipe is a write error.
 */
void stop_signals_install(struct loop *loop, bool is_continuous);
/* Nothing if another loop is woken by now. */
void stop_signals_uninstall(struct loop *loop);

/* Returns whether iaprof's caller ignores one of the signals. */
bool stop_signal_was_ignored(int number);
/* Returns whether a continuous run received SIGHUP since the last call. */
bool stop_signals_take_reload(void);
/* Returns the first signal that was received, or 0. */
int stop_signal_received(void);
