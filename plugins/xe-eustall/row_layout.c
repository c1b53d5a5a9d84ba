/* SPDX-License-Identifier: Apache-2.0 */
/* See row_layout.h. */
#include <iaprof/record.h>
#include "row_layout.h"

const char *const stall_reason_names[STALL_REASON_COUNT] = {
	[STALL_ACTIVE] = "active",     [STALL_TDR] = "tdr",   [STALL_OTHER] = "other",
	[STALL_CONTROL] = "control",   [STALL_SEND] = "send", [STALL_PIPESTALL] = "pipestall",
	[STALL_DIST_ACC] = "dist_acc", [STALL_SBID] = "sbid", [STALL_INST_FETCH] = "inst_fetch",
	[STALL_SYNC] = "sync",
};

/* Linux 6.15. Bit 29 is "active" here and "tdr" in later layouts, so a wrong layout produces plausible numbers. */
const struct row_layout row_layout_pvc = {
	.name = "PVC",
	.address_bits = 29,
	.address_space = IAPROF_ADDRESS_INSTRUCTION_BASE,
	.counter_count = 9,
	.reasons = { STALL_ACTIVE, STALL_OTHER, STALL_CONTROL, STALL_PIPESTALL, STALL_SEND, STALL_DIST_ACC, STALL_SBID,
		     STALL_SYNC, STALL_INST_FETCH },
};

/* Xe2 and Xe3. */
#define XE2_REASONS                                                                                                    \
	{                                                                                                              \
		STALL_TDR, STALL_OTHER, STALL_CONTROL, STALL_PIPESTALL, STALL_SEND, STALL_DIST_ACC, STALL_SBID,        \
			STALL_SYNC, STALL_INST_FETCH, STALL_ACTIVE                                                     \
	}
const struct row_layout row_layout_xe2 = {
	.name = "Xe2",
	.address_bits = 29,
	.address_space = IAPROF_ADDRESS_INSTRUCTION_BASE,
	.counter_count = STALL_REASON_COUNT,
	.reasons = XE2_REASONS,
};

/* Linux 6.17: absolute addresses instead of an instruction base. */
const struct row_layout row_layout_xe3p = {
	.name = "Xe3p",
	.address_bits = 61,
	.address_space = IAPROF_ADDRESS_ABSOLUTE,
	.counter_count = STALL_REASON_COUNT,
	.reasons = XE2_REASONS,
};
