/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks about what is launched, recorded and executed: launches, command lists, graphs and mutable lists. They
 * serve the tracing layer, and the wrappers of functions that the driver itself hands out (extensions.c).
 */
#ifndef ZE_TRACER_RECORDING_CALLBACKS_H
#define ZE_TRACER_RECORDING_CALLBACKS_H

#include "level_zero.h"

traced_callback launch_appending, launch_appending_with_parameters, launch_appending_with_arguments, work_awaited,
	context_destroying, launch_appended, launches_appended, memory_filled, memory_copied, image_copied,
	timestamps_queried, lists_executed, lists_appended, list_created, immediate_list_created, list_cloned,
	list_reset, list_destroying, capture_has_begun, capture_has_ended, graph_instantiated, graph_appended,
	graph_destroying, executable_destroying, command_has_number, command_has_number_and_kernels, kernels_changed;

#endif
