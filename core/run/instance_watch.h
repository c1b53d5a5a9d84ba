/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the host interface with which sources are called back by the loop. */
#ifndef IAPROF_CORE_RUN_INSTANCE_WATCH_H
#define IAPROF_CORE_RUN_INSTANCE_WATCH_H

#include "run/instance.h"

/* Sets the members of a host for callbacks. */
void instance_watch_host(struct iaprof_host *host);
/* Ends all watches of an instance. */
void instance_watch_release(struct instance *instance);

#endif
