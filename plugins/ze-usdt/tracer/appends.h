/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command becomes part of: an immediate list executes it now, a regular one records it, and a list whose
 * commands are being captured records it in a graph. A launch or recording that is appended to a recording executes
 * with it.
 */
#ifndef ZE_TRACER_APPENDS_H
#define ZE_TRACER_APPENDS_H

#include "driver_kernels.h"
#include "launch.h"

/* Handles of a call that passed the loader, which may wrap the driver's, or of one that went to the driver directly. */
enum handle_owner { HANDLES_LOADER, HANDLES_DRIVER };

/* Returns the list. One created before the tracer was loaded is registered; what it contains is unknown. May be NULL.
 */
struct list *appends_list(struct registry_cache *cache, ze_command_list_handle_t handle, enum handle_owner owner);

/* Launches were appended to a list: reports them if a profiler is attached. timed: appends_time_launch(), or NULL. */
void appends_launches(uintptr_t frame_pointer, ze_command_list_handle_t list, enum handle_owner owner,
		      const ze_kernel_handle_t *kernels, uint32_t count, struct timed_launch *timed);

/*
 * A launch without an event is about to be appended: sets *event if it is to be timed, and returns what
 * appends_launches() and then level_zero_launch_end() receive; else NULL.
 */
struct timed_launch *appends_time_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
					 ze_event_handle_t *event);

/* A command was appended to a list for which the driver launches a kernel of its own, unless the list is a copy
 * engine's. */
void appends_driver_kernel(uintptr_t frame_pointer, ze_command_list_handle_t list, enum handle_owner owner,
			   enum driver_kernel kernel);

/* A launch in a recording has this kernel from now on. */
void appends_changed_launch(uintptr_t frame_pointer, uint64_t recording, ze_kernel_handle_t kernel,
			    enum handle_owner owner);

/* Regular lists execute: now, when list is NULL, or as part of what this list executes or records. */
void appends_lists(ze_command_list_handle_t list, enum handle_owner owner, const ze_command_list_handle_t *executed,
		   uint32_t count);

/* An executable graph was appended to a list. */
void appends_graph(ze_command_list_handle_t list, enum handle_owner owner, uintptr_t executable);

#endif
