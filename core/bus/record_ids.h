/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the string and stack ids in records that come from another intern table. */
#pragma once

#include <iaprof/record.h>

enum id_space {
	ID_STRING = 1, /* also value types: the id of one is the string id of its name and unit */
	ID_STACK = 2,
};

/*
 * Replaces each id in a checked record of a source (record_check()), and of VALUE_TYPE, by what translate() returns for
 * it. Ids that are 0, and those beyond the end of a shorter record, are not translated.
 */
void record_translate_ids(struct iaprof_record *record,
			  uint32_t (*translate)(void *context, enum id_space space, uint32_t id), void *context);
