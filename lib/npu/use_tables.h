/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the tables of phases and of users as notes, whose texts are rows (iaprof/record.h).
 * Owned by one thread.
 */
#pragma once

#include "npu/use.h"
#include "records/record_batch.h"

/* Rows of the table of users; a last one has the number of the others. */
#define USE_USERS_SHOWN 20u
#define USE_CONTEXTS_SHOWN 8u /* of a process */

/* Appends the notes. Returns 0 or a negative errno. */
int npu_use_emit(const struct npu_use *use, struct record_batch *batch, const struct ivpu_statistics *statistics,
		 uint64_t time);
