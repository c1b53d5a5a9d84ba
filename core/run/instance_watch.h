/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the host interface with which sources are called back by the loop. */
#pragma once

#include "run/instance.h"

/* Sets the members of a host for callbacks. */
void instance_watch_host(struct iaprof_host *host);
/* Ends callbacks for good, while all descriptors are still open. */
void instance_watch_pause(struct instance *instance);
/* Ends all watches of an instance. */
void instance_watch_release(struct instance *instance);
