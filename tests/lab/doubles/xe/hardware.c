// SPDX-License-Identifier: GPL-2.0-only
/*
 * The EU stall hardware: a ring for each Xe-core, with a write pointer, a read pointer and an overflow bit. Beside each
 * slot of a ring stands the number of the row in it, so that what became of every row is known.
 */
#include <linux/string.h>
#include "hardware.h"
#include "scenario.h"

/* A slot: the row's number, and whether the row in it was neither read nor discarded yet. */
#define SLOT_FRESH 0x80000000u

enum row_fate { ROW_READ, ROW_DISCARDED };

static void settle_slot(struct xe_gt *gt, u32 *slot, enum row_fate fate)
{
	struct xe_row_totals *totals = &gt->hardware.totals;
	struct scenario_row *row = &gt->xe->scenario->rows[*slot & ~SLOT_FRESH];

	if (*slot & SLOT_FRESH) {
		*slot &= ~SLOT_FRESH;
		if (fate == ROW_READ) {
			row->read++;
			totals->read++;
		} else {
			row->discarded++;
			totals->discarded++;
		}
	} else if (fate == ROW_READ) {
		totals->stale++;
	}
}

/* Rows in [from, from + size) of a ring, in bytes; a slot that was never written belongs to no scenario. */
static void settle_rows(struct xe_gt *gt, unsigned int core, u32 from, u32 size, enum row_fate fate)
{
	u32 *slots = gt->hardware.slots + core * XE_RING_ROWS;

	if (!gt->xe->scenario) {
		if (fate == ROW_READ)
			gt->hardware.totals.stale += size / XE_ROW_SIZE;
		return;
	}
	for (u32 offset = 0; offset < size; offset += XE_ROW_SIZE)
		settle_slot(gt, &slots[(from + offset) % XE_RING_SIZE / XE_ROW_SIZE], fate);
}

/* After a reset the pointers no longer say where the rows are. */
static void discard_unread(struct xe_gt *gt)
{
	struct xe_hardware *hardware = &gt->hardware;
	DECLARE_BITMAP(cores, XE_MAX_CORES);
	unsigned int core;

	gt_config_cores(&gt->config, cores);
	for_each_set_bit(core, cores, XE_MAX_CORES)
	{
		struct xe_core_registers *registers = &hardware->core[core];

		if (hardware->registers_lost)
			settle_rows(gt, core, 0, XE_RING_SIZE, ROW_DISCARDED);
		else
			settle_rows(gt, core, registers->read, (registers->write - registers->read) & XE_POINTER_MASK,
				    ROW_DISCARDED);
		registers->read = registers->write;
		registers->overflow_drop = false;
	}
	hardware->registers_lost = false;
}

void hardware_attach(struct xe_gt *gt, u8 *buffer, u32 *slots)
{
	spin_lock(&gt->hardware.lock);
	gt->hardware.buffer = buffer;
	gt->hardware.slots = slots;
	spin_unlock(&gt->hardware.lock);
}

void hardware_detach(struct xe_gt *gt)
{
	spin_lock(&gt->hardware.lock);
	discard_unread(gt);
	gt->hardware.sampling = false;
	gt->hardware.buffer = NULL;
	gt->hardware.slots = NULL;
	spin_unlock(&gt->hardware.lock);
}

void hardware_enable(struct xe_gt *gt, u32 pointers[XE_MAX_CORES])
{
	spin_lock(&gt->hardware.lock);
	discard_unread(gt);
	for (unsigned int core = 0; core < XE_MAX_CORES; core++)
		pointers[core] = gt->hardware.core[core].write;
	gt->hardware.sampling = true;
	spin_unlock(&gt->hardware.lock);
}

void hardware_disable(struct xe_gt *gt)
{
	spin_lock(&gt->hardware.lock);
	gt->hardware.sampling = false;
	spin_unlock(&gt->hardware.lock);
}

u32 hardware_write_pointer(struct xe_gt *gt, unsigned int core, bool *dropped)
{
	u32 write;

	spin_lock(&gt->hardware.lock);
	write = gt->hardware.core[core].write;
	*dropped = gt->hardware.core[core].overflow_drop;
	spin_unlock(&gt->hardware.lock);
	return write;
}

/* The start is the driver's: after a reset the register no longer has it. */
void hardware_set_read_pointer(struct xe_gt *gt, unsigned int core, u32 from, u32 size)
{
	spin_lock(&gt->hardware.lock);
	settle_rows(gt, core, from, size, ROW_READ);
	gt->hardware.core[core].read = (from + size) & XE_POINTER_MASK;
	spin_unlock(&gt->hardware.lock);
}

void hardware_clear_drop(struct xe_gt *gt, unsigned int core)
{
	spin_lock(&gt->hardware.lock);
	gt->hardware.core[core].overflow_drop = false;
	spin_unlock(&gt->hardware.lock);
}

void hardware_reset(struct xe_gt *gt)
{
	struct xe_hardware *hardware = &gt->hardware;

	spin_lock(&hardware->lock);
	memset(hardware->core, 0, sizeof(hardware->core));
	hardware->registers_lost = hardware->buffer != NULL;
	hardware->sampling = false;
	spin_unlock(&hardware->lock);
}

static void set_overflow(struct xe_hardware *hardware, struct xe_core_registers *registers)
{
	if (!registers->overflow_drop)
		hardware->totals.overflows++;
	registers->overflow_drop = true;
}

int hardware_force_overflow(struct xe_gt *gt, unsigned int core)
{
	DECLARE_BITMAP(cores, XE_MAX_CORES);

	gt_config_cores(&gt->config, cores);
	if (core >= XE_MAX_CORES || !test_bit(core, cores))
		return -EINVAL;
	spin_lock(&gt->hardware.lock);
	set_overflow(&gt->hardware, &gt->hardware.core[core]);
	gt->hardware.totals.forced++;
	spin_unlock(&gt->hardware.lock);
	return 0;
}

/* One row happens. Returns false, with nothing changed, if it has to wait. */
static bool play_row(struct xe_hardware *hardware, struct scenario_row *row, u32 number, bool wait)
{
	struct xe_core_registers *registers = &hardware->core[row->core];
	u32 offset = registers->write % XE_RING_SIZE;

	if (!hardware->sampling) {
		row->unsampled++;
		hardware->totals.unsampled++;
	} else if (((registers->write - registers->read) & XE_POINTER_MASK) >= XE_RING_SIZE) {
		if (wait)
			return false;
		set_overflow(hardware, registers);
		row->dropped++;
		hardware->totals.dropped++;
	} else {
		memcpy(hardware->buffer + row->core * XE_RING_SIZE + offset, row->bytes, XE_ROW_SIZE);
		hardware->slots[row->core * XE_RING_ROWS + offset / XE_ROW_SIZE] = number | SLOT_FRESH;
		registers->write = (registers->write + XE_ROW_SIZE) & XE_POINTER_MASK;
	}
	row->produced++;
	hardware->totals.produced++;
	return true;
}

u32 hardware_play(struct xe_gt *gt, u32 first, u32 count, bool wait)
{
	struct scenario_row *rows = gt->xe->scenario->rows;
	u32 played = 0;

	spin_lock(&gt->hardware.lock);
	while (played < count && play_row(&gt->hardware, &rows[first + played], first + played, wait))
		played++;
	spin_unlock(&gt->hardware.lock);
	return played;
}

void hardware_totals(struct xe_gt *gt, struct xe_row_totals *totals, u64 *waiting)
{
	spin_lock(&gt->hardware.lock);
	*totals = gt->hardware.totals;
	spin_unlock(&gt->hardware.lock);
	*waiting = totals->produced - totals->dropped - totals->unsampled - totals->read - totals->discarded;
}
