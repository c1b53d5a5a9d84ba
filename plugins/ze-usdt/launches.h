/* SPDX-License-Identifier: Apache-2.0 */
/* Emits launches and executions of command lists from a drained set of maps. */
#ifndef IAPROF_ZE_USDT_LAUNCHES_H
#define IAPROF_ZE_USDT_LAUNCHES_H

struct drain;

/* Emits immediate launches; those appended to lists are added to their recordings. Returns 0 or a negative errno. */
int launches_emit(struct drain *drain);
/* Emits the launches of executed lists. Returns 0 or a negative errno. */
int executions_emit(struct drain *drain);

#endif
