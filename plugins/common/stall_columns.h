/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons for a stall that a line of sink iaprof's stream has, in their order. */
#ifndef IAPROF_PLUGINS_COMMON_STALL_COLUMNS_H
#define IAPROF_PLUGINS_COMMON_STALL_COLUMNS_H

#define STALL_COLUMN_COUNT 10
#define STALL_COLUMN_OTHER 8

static const char *const stall_column_names[STALL_COLUMN_COUNT] = {
	"active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr",
};

#endif
