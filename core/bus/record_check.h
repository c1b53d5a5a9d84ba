/* SPDX-License-Identifier: Apache-2.0 */
/* Is a record well formed? Sizes, types and lengths inside it; not what its ids mean. */
#ifndef IAPROF_CORE_BUS_RECORD_CHECK_H
#define IAPROF_CORE_BUS_RECORD_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <iaprof/record.h>
#include "base/error.h"

/*
 * Checks the record at the start of available bytes (8-byte aligned). Returns 0, or -EINVAL with what is wrong. Types
 * that this version does not know pass when their header is right.
 */
int record_check(const void *bytes, size_t available, struct error *error);

/* "SAMPLE" and so on, for messages and text output; "type 99" is not made here: NULL for an unknown type. */
const char *record_type_name(uint32_t type);

/* Whether only the core, or a source that replays a run, may send this type. */
bool record_is_of_core(uint32_t type);

#endif
