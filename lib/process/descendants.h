/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes and their descendants in /proc. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct process_list {
	ARRAY(uint32_t);
};

/*
 * Appends all running descendants of the processes in the list. A descendant whose parent has exited is not found.
 * Returns 0 or a negative errno.
 */
int descendants_add(struct process_list *processes);
