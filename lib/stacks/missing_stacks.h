/* SPDX-License-Identifier: Apache-2.0 */
/* A message for profiles that contain nothing which a sink of stacks can write. */
#pragma once

#include <iaprof/host.h>
#include <iaprof/profile.h>

/* Warns if a profile of a whole recorded run has no stacks, and states what it has instead. */
void missing_stacks_report(const struct iaprof_host *host, const struct iaprof_profile *profile);
