/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lists are being captured. The driver knows: also a list that only waits for an event of a captured one is
 * captured from then on, into the same graph.
 */
#ifndef ZE_TRACER_CAPTURES_H
#define ZE_TRACER_CAPTURES_H

#include "appends.h"

/* Returns the graph that records the commands of this immediate list, or NULL: they execute. */
struct graph *capture_of(const struct list *list, ze_command_list_handle_t handle, enum handle_owner owner);

/* A capture began on a list. */
void capture_begun(ze_command_list_handle_t list, enum handle_owner owner);
/* It ended, or may have: a list without a graph is not captured. */
void capture_ended(ze_command_list_handle_t list, enum handle_owner owner, uintptr_t graph);
/* The list is about to be destroyed. */
void capture_list_destroyed(ze_command_list_handle_t list);

#endif
