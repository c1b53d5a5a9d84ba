/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, by the functions of its Linux kernel stack and the driver of its ioctl. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "off-cpu.h"
#include "wait_reasons.h"
#include "../run_suite.h"

/* Functions begin at multiples of 0x100, and are not in order. */
static const char symbols[] = "ffffffff81000300 t dma_fence_default_wait\n"
			      "ffffffff81000100 T __schedule\n"
			      "ffffffff81000200 T schedule\n"
			      "ffffffff81000400 T futex_wait.isra.0\n"
			      "ffffffff81000500 t handle_mm_fault\n"
			      "ffffffff81000600 t io_schedule\n"
			      "ffffffff81000700 t unknown_function\n"
			      "ffffffff81000700 t do_nanosleep\n"
			      "ffffffff81000800 d futex_wait\n"
			      "ffffffff81000900 t last_function\n"
			      "ffffffffc0000100 t xe_ioctl\t[xe]\n"
			      "ffffffffc0000200 t other_ioctl\t[other]\n"
			      "ffffffffc0000300 t ivpu_bo_wait_ioctl\t[intel_vpu]\n"
			      "not a symbol\n";
#define FUNCTION(number) (0xffffffff81000000 + (number)*0x100)
#define MODULE_FUNCTION(number) (0xffffffffc0000000 + (number)*0x100)
enum { SCHEDULE_INNER = 1, SCHEDULE, FENCE, FUTEX, FAULT, DISK, SLEEP, OTHER = 9 };
enum { XE = 1, UNKNOWN_DRIVER, IVPU };

static struct wait_reasons reasons;

static void setup(void)
{
	FILE *file = fmemopen((void *)(uintptr_t)symbols, sizeof symbols - 1, "r");
	reasons = (struct wait_reasons){ 0 };
	ck_assert_int_eq(wait_reasons_read(&reasons, file), 0);
	fclose(file);
}

static void teardown(void)
{
	wait_reasons_free(&reasons);
}

/* The first address is that of the leaf; the others are behind a call. */
static void expect(const char *wanted, uint64_t leaf, uint64_t caller, const char *driver, uint32_t state)
{
	char text[WAIT_REASON_SIZE];
	const uint64_t addresses[] = { leaf, caller };
	wait_reason_text(&reasons, addresses, caller ? 2 : 1, driver, state, text);
	ck_assert_str_eq(text, wanted);
}

TEST(functions_are_reasons)
{
	expect("[lock]", FUNCTION(OTHER), FUNCTION(FUTEX) + 0x10, "", OFF_CPU_INTERRUPTIBLE);
	expect("[sleep]", FUNCTION(SLEEP), 0, "", OFF_CPU_INTERRUPTIBLE);
	expect("[sleep]", FUNCTION(SLEEP) + 0xff, 0, "", OFF_CPU_INTERRUPTIBLE);
	/* A return address at a function's start is of the one before it. */
	expect("[disk]", FUNCTION(OTHER), FUNCTION(SLEEP), "", OFF_CPU_UNINTERRUPTIBLE);
}

TEST(a_page_fault_that_reads_waits_for_the_disk)
{
	expect("[page fault]", FUNCTION(FAULT), 0, "", OFF_CPU_UNINTERRUPTIBLE);
	expect("[disk]", FUNCTION(DISK), FUNCTION(FAULT) + 1, "", OFF_CPU_UNINTERRUPTIBLE);
	expect("[disk]", FUNCTION(FAULT), FUNCTION(DISK) + 1, "", OFF_CPU_UNINTERRUPTIBLE);
}

TEST(waits_for_devices_name_the_driver)
{
	expect("[GPU fence: xe]", FUNCTION(FENCE), MODULE_FUNCTION(XE) + 1, "", OFF_CPU_INTERRUPTIBLE);
	expect("[GPU fence: i915]", FUNCTION(FENCE), 0, "i915", OFF_CPU_INTERRUPTIBLE);
	expect("[GPU ioctl: nvidia]", FUNCTION(OTHER), 0, "nvidia", OFF_CPU_INTERRUPTIBLE);
	expect("[GPU fence: amdgpu]", FUNCTION(FENCE), 0, "amdgpu", OFF_CPU_INTERRUPTIBLE);
	expect("[GPU driver: xe]", FUNCTION(OTHER), MODULE_FUNCTION(XE) + 1, "", OFF_CPU_UNINTERRUPTIBLE);
	expect("[NPU job: intel_vpu]", MODULE_FUNCTION(IVPU), 0, "intel_vpu", OFF_CPU_INTERRUPTIBLE);
	expect("[device fence]", FUNCTION(FENCE), 0, "", OFF_CPU_INTERRUPTIBLE);
	expect("[device fence: other]", FUNCTION(FENCE), 0, "other", OFF_CPU_INTERRUPTIBLE);
	/* A lock below an ioctl of an accelerator is the driver's matter. */
	expect("[GPU ioctl: xe]", FUNCTION(DISK), 0, "xe", OFF_CPU_UNINTERRUPTIBLE);
}

TEST(without_a_reason_the_state_is_shown)
{
	expect("[interruptible]", FUNCTION(OTHER), 0, "", OFF_CPU_INTERRUPTIBLE);
	expect("[uninterruptible]", FUNCTION(OTHER), 0, "", OFF_CPU_UNINTERRUPTIBLE);
	expect("[interruptible]", FUNCTION(OTHER), FUNCTION(SCHEDULE) + 1, "", OFF_CPU_INTERRUPTIBLE);
	expect("[ioctl: other]", FUNCTION(OTHER), MODULE_FUNCTION(UNKNOWN_DRIVER) + 1, "other", OFF_CPU_INTERRUPTIBLE);
	expect("[ioctl: a?b]", FUNCTION(OTHER), 0, "a\033b", OFF_CPU_INTERRUPTIBLE);
	char text[WAIT_REASON_SIZE];
	wait_reason_text(&reasons, NULL, 0, "", OFF_CPU_INTERRUPTIBLE, text);
	ck_assert_str_eq(text, "[interruptible]");
}

TEST(threads_that_are_ready_wait_for_nothing_else)
{
	expect("[runnable]", FUNCTION(FUTEX), 0, "", OFF_CPU_WOKEN);
	expect("[preempted]", FUNCTION(FUTEX), 0, "xe", OFF_CPU_PREEMPTED);
	expect("[stopped]", FUNCTION(FUTEX), 0, "", OFF_CPU_STOPPED);
}

TEST(frames_of_the_scheduler_are_skipped)
{
	const uint64_t stack[] = { 0xffffffffc1000000,     0xffffffff80000010,  FUNCTION(SCHEDULE_INNER) + 5,
				   FUNCTION(SCHEDULE) + 5, FUNCTION(FUTEX) + 5, FUNCTION(OTHER) + 5 };
	ck_assert_uint_eq(wait_reasons_skip(&reasons, stack, 6), 4);
	ck_assert_uint_eq(wait_reasons_skip(&reasons, stack, 3), 0); /* nothing would be left */
	ck_assert_uint_eq(wait_reasons_skip(&reasons, stack + 4, 2), 0);
	ck_assert_uint_eq(wait_reasons_skip(&reasons, stack, 0), 0);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
