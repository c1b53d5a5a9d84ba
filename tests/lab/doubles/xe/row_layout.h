/* SPDX-License-Identifier: GPL-2.0-only */
/* Row layouts: how a 64-byte row of EU stall data holds an address and a counter for each reason. */
#pragma once

#include <linux/types.h>

#define XE_ROW_SIZE 64u
#define XE_COUNTER_MAX 255u

enum stall_reason {
	STALL_ACTIVE,
	STALL_TDR,
	STALL_OTHER,
	STALL_CONTROL,
	STALL_PIPESTALL,
	STALL_SEND,
	STALL_DIST_ACC,
	STALL_SBID,
	STALL_SYNC,
	STALL_INST_FETCH,
	STALL_REASON_COUNT
};

extern const char *const stall_reason_names[STALL_REASON_COUNT];

/* A field that a layout lacks. */
#define XE_NO_FIELD 0xffff

struct row_layout {
	const char *name;
	u16 address_bits; /* of address >> 3, from bit 0 */
	u16 counter[STALL_REASON_COUNT];
	u16 ex_id;    /* 3 bits */
	u16 end_flag; /* 1 bit */
};

extern const struct row_layout row_layout_pvc;
extern const struct row_layout row_layout_xe2;
extern const struct row_layout row_layout_xe3p;

struct row_values {
	u64 address;
	u8 counters[STALL_REASON_COUNT];
	u8 ex_id;
	bool end_flag;
};

/* Does the address fit, and is it a multiple of 8? */
bool row_layout_holds_address(const struct row_layout *layout, u64 address);
void row_layout_encode(const struct row_layout *layout, const struct row_values *values, u8 row[XE_ROW_SIZE]);
