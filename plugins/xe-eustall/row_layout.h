/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of EU stall rows: 64 bytes with an instruction address and an 8-bit counter per stall reason. */
#pragma once

#include <stdint.h>

#define ROW_SIZE 64u

/* Ids of the STALL_REASON records. */
enum stall_reason {
	STALL_ACTIVE = 0,
	STALL_TDR = 1,
	STALL_OTHER = 2,
	STALL_CONTROL = 3,
	STALL_PIPESTALL = 4,
	STALL_SEND = 5,
	STALL_DIST_ACC = 6,
	STALL_SBID = 7,
	STALL_SYNC = 8,
	STALL_INST_FETCH = 9,
	STALL_REASON_COUNT
};

/* Names of the stall reasons, as in the xe driver's source: "sbid", for example. */
extern const char *const stall_reason_names[STALL_REASON_COUNT];

/*
 * A row is a little-endian number: from bit 0 on, the address of an instruction in units of 8 bytes, followed by the
 * counters (struct xe_eu_stall_data_{pvc,xe2,xe3p} in drivers/gpu/drm/xe/xe_eu_stall.c, Linux 7.0).
 */
struct row_layout {
	const char *name;
	uint32_t address_bits;
	uint32_t address_space; /* enum iaprof_address_space */
	uint32_t counter_count;
	uint8_t reasons[STALL_REASON_COUNT]; /* reason of each counter, enum stall_reason */
};

extern const struct row_layout row_layout_pvc;
extern const struct row_layout row_layout_xe2;
extern const struct row_layout row_layout_xe3p;
