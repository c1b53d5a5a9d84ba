/* SPDX-License-Identifier: Apache-2.0 */
/* Members of struct iaprof_host for sinks that concern the run: requests, end of the run, the terminal. */
#pragma once

#include <iaprof/host.h>

/* Sets these members. */
void instance_run_host(struct iaprof_host *host);

/* Implements screen_release(); also for an instance without the terminal. */
struct instance;
void instance_give_back_screen(struct instance *instance);
