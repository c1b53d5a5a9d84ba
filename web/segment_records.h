/* SPDX-License-Identifier: Apache-2.0 */
/* Records of one segment of a ring, added up by metric, program, device and service. */
#pragma once

#include <iaprof/record.h>

#include "segment_sums.h"

struct segment_stack {
	uint32_t program, device, service; /* names; 0: none */
};

/* An id of the segment, and what it is among all segments. */
struct segment_id {
	uint32_t id, value;
	uint16_t source;
};

struct segment_records {
	struct segment_sums *sums;
	struct segment_names *names;
	struct string_table texts;
	ARRAY(struct segment_id) metrics;
	ARRAY(struct segment_id) devices;
	ARRAY(struct segment_stack) stacks; /* by id */
};

/* Takes a record of valid size. Initialise records with its sums and names. Returns 0, -EBADMSG or -ENOMEM. */
int segment_records_take(struct segment_records *records, const struct iaprof_record *record);
void segment_records_free(struct segment_records *records);
