/* SPDX-License-Identifier: Apache-2.0 */
/* An id as it is used in records: unique only within its source. No padding: it is a key of tables (keyed_array.h). */
#pragma once

#include <stdint.h>

struct source_id {
	uint32_t source, id;
};
