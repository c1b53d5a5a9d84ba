/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and its relatives: the first one ends the run in good order, the second one at once. */
#ifndef IAPROF_CORE_RUN_INTERRUPT_H
#define IAPROF_CORE_RUN_INTERRUPT_H

#include "run/loop.h"

/* Handles SIGINT, SIGTERM and SIGHUP by waking the loop, and ignores SIGPIPE: a closed pipe is a write error. */
void interrupt_install(struct loop *loop);
void interrupt_uninstall(void);

/* The signal that came, 0 none. */
int interrupt_signal(void);

#endif
