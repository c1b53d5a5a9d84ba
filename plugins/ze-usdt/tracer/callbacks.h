/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks to register with the tracing layer. */
#ifndef ZE_TRACER_CALLBACKS_H
#define ZE_TRACER_CALLBACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "level_zero.h"

struct callback {
	const char *register_name; /* the loader's function that registers it */
	zel_tracer_reg_t when;
	traced_callback *callback;
};

/* Set on a thread that has called zeDriverGet() of a loader that is traced. */
extern __thread bool callbacks_saw_call;

const struct callback *callbacks_list(size_t *count);

#endif
