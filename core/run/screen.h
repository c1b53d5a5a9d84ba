/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of standard output while a sink shows a picture on it: messages wait, and every end gives it back. */
#ifndef IAPROF_CORE_RUN_SCREEN_H
#define IAPROF_CORE_RUN_SCREEN_H

/* As host->screen_take() and host->screen_release(). */
int screen_take(const char *restore);
void screen_release(void);

/* For a signal handler that ends the program: gives the terminal back when it is taken. Async-signal-safe. */
void screen_restore_at_once(void);

#endif
