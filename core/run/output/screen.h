/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full-screen use of the terminal on standard output by a sink: messages are held back, and the terminal is restored
 * however the program ends.
 */
#pragma once

/* Same as host->screen_acquire() and host->screen_release(). */
int screen_acquire(const char *restore);
void screen_release(void);

/* Restores the terminal if it is taken, from a signal handler that ends the program. Async-signal-safe. */
void screen_restore_at_once(void);
