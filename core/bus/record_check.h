/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of records: sizes, types and lengths, but not the meaning of ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <iaprof/record.h>
#include "base/error.h"

/*
 * Checks the record at the start of available bytes (8-byte aligned). Returns 0, or -EINVAL with error set. Unknown
 * types pass if their header is valid.
 */
int record_check(const void *bytes, size_t available, struct error *error);

/* Checks a whole batch. of_core: the core's own record types are allowed. Returns 0, or -EINVAL with error set. */
int record_check_batch(const struct iaprof_batch *batch, bool of_core, struct error *error);

/* Returns the name of a type, such as "SAMPLE", for messages and text output; NULL for an unknown type. */
const char *record_type_name(uint32_t type);

/* Returns whether only the core, or a source that replays a run, may send this type. */
bool record_is_of_core(uint32_t type);
