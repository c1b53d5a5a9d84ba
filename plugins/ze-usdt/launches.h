/* SPDX-License-Identifier: Apache-2.0 */
/* Emits launches and executions of command lists from a drained set of maps. */
#pragma once

#include <stdbool.h>

struct drain;

/*
 * Emits immediate launches, including those that processes counted in memory; those appended to lists are added to
 * their recordings. is_last: at the end of the run. Returns 0 or a negative errno.
 */
int launches_emit(struct drain *drain, bool is_last);
/* Emits the launches of executed lists. Returns 0 or a negative errno. */
int executions_emit(struct drain *drain);
