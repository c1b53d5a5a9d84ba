/* SPDX-License-Identifier: GPL-2.0-only */
/* The EU stall hardware of a GT: what the player writes into, and what the driver's half sees through registers. */
#pragma once

#include "device.h"

struct scenario_row;

/* The stream's buffer, for as long as the stream is open. */
void hardware_attach(struct xe_gt *gt, u8 *buffer, u32 *slots);
void hardware_detach(struct xe_gt *gt);

/* Sampling on: read pointers become write pointers, overflow bits are cleared. Returns the pointers in *pointers. */
void hardware_enable(struct xe_gt *gt, u32 pointers[XE_MAX_CORES]);
void hardware_disable(struct xe_gt *gt);

/* The write pointer and the overflow bit of a Xe-core. */
u32 hardware_write_pointer(struct xe_gt *gt, unsigned int core, bool *dropped);
/* The driver copied size bytes from read pointer `from` on, and tells the hardware so. */
void hardware_set_read_pointer(struct xe_gt *gt, unsigned int core, u32 from, u32 size);
void hardware_clear_drop(struct xe_gt *gt, unsigned int core);

/* An engine or GT reset: every register goes to 0. */
void hardware_reset(struct xe_gt *gt);
/* Sets an overflow bit without losing a row. Returns -EINVAL where there is no such Xe-core. */
int hardware_force_overflow(struct xe_gt *gt, unsigned int core);

/*
 * Rows first to first + count - 1 of the installed scenario, all of this GT, happen. Returns how many did: with wait,
 * it stops before the first row that has no room, else rows without room are dropped.
 */
u32 hardware_play(struct xe_gt *gt, u32 first, u32 count, bool wait);

/* A copy of the totals, and the number of rows that wait to be read. */
void hardware_totals(struct xe_gt *gt, struct xe_row_totals *totals, u64 *waiting);
