/* SPDX-License-Identifier: Apache-2.0 */
/* Options that name a file or folder which only one sink of a run can use (IAPROF_OPTION_EXCLUSIVE). */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "run/instance.h"

/* Returns 0, or -EINVAL if two sinks of a plugin have the same value of such an option. */
int exclusive_options_check(struct instance *const *sinks, size_t count, struct error *error);
