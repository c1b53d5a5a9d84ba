// SPDX-License-Identifier: GPL-2.0-only
/*
 * Row layouts and their encoder. Bits are numbered from the least significant bit of byte 0; the positions are those of
 * the structures for PVC, Xe2 and Xe3p in xe_eu_stall.c (Linux 7.2), and bits after the last field are 0.
 */
#include <linux/string.h>
#include "row_layout.h"

const char *const stall_reason_names[STALL_REASON_COUNT] = {
	[STALL_ACTIVE] = "active",       [STALL_TDR] = "tdr",
	[STALL_OTHER] = "other",         [STALL_CONTROL] = "control",
	[STALL_PIPESTALL] = "pipestall", [STALL_SEND] = "send",
	[STALL_DIST_ACC] = "dist_acc",   [STALL_SBID] = "sbid",
	[STALL_SYNC] = "sync",           [STALL_INST_FETCH] = "inst_fetch",
};

const struct row_layout row_layout_pvc = {
	.name = "pvc",
	.address_bits = 29,
	.counter = { [STALL_ACTIVE] = 29,
		     [STALL_TDR] = XE_NO_FIELD,
		     [STALL_OTHER] = 37,
		     [STALL_CONTROL] = 45,
		     [STALL_PIPESTALL] = 53,
		     [STALL_SEND] = 61,
		     [STALL_DIST_ACC] = 69,
		     [STALL_SBID] = 77,
		     [STALL_SYNC] = 85,
		     [STALL_INST_FETCH] = 93 },
	.ex_id = XE_NO_FIELD,
	.end_flag = XE_NO_FIELD,
};

const struct row_layout row_layout_xe2 = {
	.name = "xe2",
	.address_bits = 29,
	.counter = { [STALL_ACTIVE] = 101,
		     [STALL_TDR] = 29,
		     [STALL_OTHER] = 37,
		     [STALL_CONTROL] = 45,
		     [STALL_PIPESTALL] = 53,
		     [STALL_SEND] = 61,
		     [STALL_DIST_ACC] = 69,
		     [STALL_SBID] = 77,
		     [STALL_SYNC] = 85,
		     [STALL_INST_FETCH] = 93 },
	.ex_id = 109,
	.end_flag = 112,
};

const struct row_layout row_layout_xe3p = {
	.name = "xe3p",
	.address_bits = 61,
	.counter = { [STALL_ACTIVE] = 133,
		     [STALL_TDR] = 61,
		     [STALL_OTHER] = 69,
		     [STALL_CONTROL] = 77,
		     [STALL_PIPESTALL] = 85,
		     [STALL_SEND] = 93,
		     [STALL_DIST_ACC] = 101,
		     [STALL_SBID] = 109,
		     [STALL_SYNC] = 117,
		     [STALL_INST_FETCH] = 125 },
	.ex_id = 141,
	.end_flag = 144,
};

bool row_layout_holds_address(const struct row_layout *layout, u64 address)
{
	return !(address & 7) && !((address >> 3) >> layout->address_bits);
}

static void set_bits(u8 *row, unsigned int first, unsigned int width, u64 value)
{
	for (unsigned int i = 0; i < width; i++)
		if (value >> i & 1)
			row[(first + i) / 8] |= 1u << ((first + i) % 8);
}

void row_layout_encode(const struct row_layout *layout, const struct row_values *values, u8 row[XE_ROW_SIZE])
{
	memset(row, 0, XE_ROW_SIZE);
	set_bits(row, 0, layout->address_bits, values->address >> 3);
	for (int reason = 0; reason < STALL_REASON_COUNT; reason++)
		if (layout->counter[reason] != XE_NO_FIELD)
			set_bits(row, layout->counter[reason], 8, values->counters[reason]);
	if (layout->ex_id != XE_NO_FIELD)
		set_bits(row, layout->ex_id, 3, values->ex_id);
	if (layout->end_flag != XE_NO_FIELD)
		set_bits(row, layout->end_flag, 1, values->end_flag);
}
