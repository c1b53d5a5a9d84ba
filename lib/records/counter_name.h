/* SPDX-License-Identifier: Apache-2.0 */
/* Displayed names of counters: "memory [copy, heap=2, process 12]". */
#pragma once

#include <stdint.h>
#include "text/text.h"

/* Appends the name of a counter and what distinguishes it from others of this name; "" and 0: nothing. */
void counter_name_append(struct text *text, const char *name, const char *engine, const char *labels, uint32_t pid);
