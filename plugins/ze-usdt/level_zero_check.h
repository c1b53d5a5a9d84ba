/* SPDX-License-Identifier: Apache-2.0 */
/* The requirements of Level Zero tracing, for --check: this machine, and the programs that use Level Zero now. */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

/* Returns whether there is a DRM render node with driver xe or i915. */
bool level_zero_gpu_is_there(void);

/* For check(). wants_tracer: tracer=no was not set. */
void level_zero_check(const struct iaprof_host *host, bool wants_tracer, bool wants_injection);
