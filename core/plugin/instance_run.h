/* SPDX-License-Identifier: Apache-2.0 */
/* What sinks ask of the run (iaprof/host.h): what they need of profiles, its end, the terminal. */
#ifndef IAPROF_CORE_PLUGIN_INSTANCE_RUN_H
#define IAPROF_CORE_PLUGIN_INSTANCE_RUN_H

#include <iaprof/host.h>

void instance_request(const struct iaprof_host *host, uint32_t flags);
void instance_default_interval(const struct iaprof_host *host, uint64_t interval);
void instance_end_run(const struct iaprof_host *host);
int instance_run_is_ending(const struct iaprof_host *host);
int instance_screen_take(const struct iaprof_host *host, const char *restore);
void instance_screen_release(const struct iaprof_host *host);

/* The same for an instance that may have no host yet. */
struct instance;
void instance_give_back_screen(struct instance *instance);

#endif
