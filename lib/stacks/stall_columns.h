/* SPDX-License-Identifier: Apache-2.0 */
/* The stall reasons in a line of sink iaprof's stream, in order. */
#pragma once

#include <iaprof/record.h>

#define STALL_COLUMN_COUNT 10
#define STALL_COLUMN_OTHER 8

static const char *const stall_column_names[STALL_COLUMN_COUNT] = {
	"active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr",
};

/* The classes of those reasons, enum iaprof_stall_class. */
static const uint32_t stall_column_classes[STALL_COLUMN_COUNT] = {
	IAPROF_STALL_ISSUING, IAPROF_STALL_BRANCH,  IAPROF_STALL_PIPELINE, IAPROF_STALL_QUEUE, IAPROF_STALL_ARITHMETIC,
	IAPROF_STALL_DATA,    IAPROF_STALL_BARRIER, IAPROF_STALL_FETCH,    IAPROF_STALL_OTHER, IAPROF_STALL_ORDER,
};
