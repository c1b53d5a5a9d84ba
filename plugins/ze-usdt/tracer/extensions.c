/* SPDX-License-Identifier: Apache-2.0 */
/* See extensions.h. */
#include "extensions.h"

#include <stdbool.h>
#include <string.h>

#include "recording_callbacks.h"

enum extension {
	BEGIN_CAPTURE_EXP,
	BEGIN_CAPTURE_EXT,
	BEGIN_CAPTURE_INTO_EXP,
	BEGIN_CAPTURE_INTO_EXT,
	END_CAPTURE_EXP,
	END_CAPTURE_EXT,
	INSTANTIATE_EXP,
	INSTANTIATE_EXT,
	APPEND_GRAPH_EXP,
	APPEND_GRAPH_EXT,
	DESTROY_GRAPH_EXP,
	DESTROY_GRAPH_EXT,
	DESTROY_EXECUTABLE_EXP,
	DESTROY_EXECUTABLE_EXT,
	CLONE_LIST,
	APPEND_LISTS,
	NEXT_COMMAND,
	NEXT_COMMAND_WITH_KERNELS,
	CHANGE_KERNELS,
	LAUNCH_VARIABLE,
	COPY_MEMORY,
	FILL_MEMORY,
	EXTENSION_COUNT
};

/* The driver's functions, once the program has asked for them. */
static void *functions[EXTENSION_COUNT];

/*
 * A wrapper has up to nine arguments. All are integers or pointers, so that each has a register or 8 bytes on the
 * stack: they are handed on as they came. order: the arguments in the order that the callback expects.
 */
typedef uintptr_t argument;
typedef ze_result_t extension_function(argument, argument, argument, argument, argument, argument, argument, argument,
				       argument);
#define WRAPPER(name, extension, before, after, ...)                                                                   \
	static ze_result_t ZE_APICALL name(argument a, argument b, argument c, argument d, argument e, argument f,     \
					   argument g, argument h, argument i)                                         \
	{                                                                                                              \
		extension_function *function =                                                                         \
			(extension_function *)__atomic_load_n(&functions[extension], __ATOMIC_ACQUIRE);                \
		traced_callback *prologue = before, *epilogue = after;                                                 \
		const argument *order[] = { __VA_ARGS__ };                                                             \
                                                                                                                       \
		if (prologue)                                                                                          \
			prologue(order, ZE_RESULT_SUCCESS, NULL, NULL);                                                \
		ze_result_t result = function(a, b, c, d, e, f, g, h, i);                                              \
		if (epilogue)                                                                                          \
			epilogue(order, result, NULL, NULL);                                                           \
		return result;                                                                                         \
	}
#define BEFORE(name, extension, callback, ...) WRAPPER(name, extension, callback, NULL, __VA_ARGS__)
#define AFTER(name, extension, callback, ...) WRAPPER(name, extension, NULL, callback, __VA_ARGS__)

AFTER(begin_capture_exp, BEGIN_CAPTURE_EXP, capture_has_begun, &a)
AFTER(begin_capture_ext, BEGIN_CAPTURE_EXT, capture_has_begun, &a)
AFTER(begin_capture_into_exp, BEGIN_CAPTURE_INTO_EXP, capture_has_begun, &a)
AFTER(begin_capture_into_ext, BEGIN_CAPTURE_INTO_EXT, capture_has_begun, &a)
AFTER(end_capture_exp, END_CAPTURE_EXP, capture_has_ended, &a, &c, &b) /* the specification moved pNext */
AFTER(end_capture_ext, END_CAPTURE_EXT, capture_has_ended, &a, &b, &c)
AFTER(instantiate_exp, INSTANTIATE_EXP, graph_instantiated, &a, &c, &b)
AFTER(instantiate_ext, INSTANTIATE_EXT, graph_instantiated, &a, &b, &c)
AFTER(append_graph_exp, APPEND_GRAPH_EXP, graph_appended, &a, &b)
AFTER(append_graph_ext, APPEND_GRAPH_EXT, graph_appended, &a, &b)
BEFORE(destroy_graph_exp, DESTROY_GRAPH_EXP, graph_destroying, &a)
BEFORE(destroy_graph_ext, DESTROY_GRAPH_EXT, graph_destroying, &a)
BEFORE(destroy_executable_exp, DESTROY_EXECUTABLE_EXP, executable_destroying, &a)
BEFORE(destroy_executable_ext, DESTROY_EXECUTABLE_EXT, executable_destroying, &a)
AFTER(clone_list, CLONE_LIST, list_cloned, &a, &b)
AFTER(append_lists, APPEND_LISTS, lists_appended, &a, &b, &c)
AFTER(next_command, NEXT_COMMAND, command_has_number, &a, &b, &c)
AFTER(next_command_with_kernels, NEXT_COMMAND_WITH_KERNELS, command_has_number_and_kernels, &a, &b, &c, &d, &e)
AFTER(change_kernels, CHANGE_KERNELS, kernels_changed, &a, &b, &c, &d)
AFTER(launch_variable, LAUNCH_VARIABLE, launch_appended, &a, &b)
AFTER(copy_memory, COPY_MEMORY, memory_copied, &a)
AFTER(fill_memory, FILL_MEMORY, memory_filled, &a)

static const struct {
	const char *name;
	void *wrapper;
} extensions[EXTENSION_COUNT] = {
	[BEGIN_CAPTURE_EXP] = { "zeCommandListBeginGraphCaptureExp", (void *)begin_capture_exp },
	[BEGIN_CAPTURE_EXT] = { "zeCommandListBeginGraphCaptureExt", (void *)begin_capture_ext },
	[BEGIN_CAPTURE_INTO_EXP] = { "zeCommandListBeginCaptureIntoGraphExp", (void *)begin_capture_into_exp },
	[BEGIN_CAPTURE_INTO_EXT] = { "zeCommandListBeginCaptureIntoGraphExt", (void *)begin_capture_into_ext },
	[END_CAPTURE_EXP] = { "zeCommandListEndGraphCaptureExp", (void *)end_capture_exp },
	[END_CAPTURE_EXT] = { "zeCommandListEndGraphCaptureExt", (void *)end_capture_ext },
	[INSTANTIATE_EXP] = { "zeCommandListInstantiateGraphExp", (void *)instantiate_exp },
	[INSTANTIATE_EXT] = { "zeGraphInstantiateExt", (void *)instantiate_ext },
	[APPEND_GRAPH_EXP] = { "zeCommandListAppendGraphExp", (void *)append_graph_exp },
	[APPEND_GRAPH_EXT] = { "zeCommandListAppendGraphExt", (void *)append_graph_ext },
	[DESTROY_GRAPH_EXP] = { "zeGraphDestroyExp", (void *)destroy_graph_exp },
	[DESTROY_GRAPH_EXT] = { "zeGraphDestroyExt", (void *)destroy_graph_ext },
	[DESTROY_EXECUTABLE_EXP] = { "zeExecutableGraphDestroyExp", (void *)destroy_executable_exp },
	[DESTROY_EXECUTABLE_EXT] = { "zeExecutableGraphDestroyExt", (void *)destroy_executable_ext },
	[CLONE_LIST] = { "zeCommandListCreateCloneExp", (void *)clone_list },
	[APPEND_LISTS] = { "zeCommandListImmediateAppendCommandListsExp", (void *)append_lists },
	[NEXT_COMMAND] = { "zeCommandListGetNextCommandIdExp", (void *)next_command },
	[NEXT_COMMAND_WITH_KERNELS] = { "zeCommandListGetNextCommandIdWithKernelsExp",
					(void *)next_command_with_kernels },
	[CHANGE_KERNELS] = { "zeCommandListUpdateMutableCommandKernelsExp", (void *)change_kernels },
	[LAUNCH_VARIABLE] = { "zexCommandListAppendVariableLaunchKernel", (void *)launch_variable },
	[COPY_MEMORY] = { "zexCommandListAppendMemoryCopyWithParameters", (void *)copy_memory },
	[FILL_MEMORY] = { "zexCommandListAppendMemoryFillWithParameters", (void *)fill_memory },
};

void extension_found(void *arguments, ze_result_t result, void *data, void **call_data)
{
	const ze_driver_get_extension_function_address_params_t *parameters = arguments;

	(void)data;
	(void)call_data;
	if (result != ZE_RESULT_SUCCESS)
		return;
	const char *name = *parameters->pname;
	void **found = *parameters->pppFunctionAddress;
	for (unsigned i = 0; i < EXTENSION_COUNT && *found; i++) {
		if (strcmp(name, extensions[i].name) != 0)
			continue;
		void *known = NULL;

		/* Of two drivers, the first one's is wrapped. */
		if (__atomic_compare_exchange_n(&functions[i], &known, *found, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) ||
		    known == *found)
			*found = extensions[i].wrapper;
		return;
	}
}
