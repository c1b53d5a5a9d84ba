/* SPDX-License-Identifier: Apache-2.0 */
/* The scoreboard's bits of every generation that no value breaks, and the text of them: test_decoder.py has each value.
 */
#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "decoder-intel-gt/scoreboard.h"
#include "../run_suite.h"

static void expect(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits, const char *text)
{
	char formatted[GT_SCOREBOARD_TEXT];
	struct gt_scoreboard scoreboard = gt_scoreboard_decode(generation, class, bits);
	gt_scoreboard_format(&scoreboard, formatted);
	ck_assert_str_eq(formatted, text);
}

TEST(decodes_what_iga64_assembles)
{
	/* Assembled for XeHPC with each of these annotations. */
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x000, "");
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x009, "A@1");
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x011, "F@1");
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x019, "I@1");
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x083, "$3.dst");
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x0bf, "$31.src");
	expect(GT_XE_HPC, GT_SCOREBOARD_ORDERED, 0x123, "@1,$3.dst");
	expect(GT_XE3, GT_SCOREBOARD_ORDERED, 0x031, "S@1");
	expect(GT_XE2, GT_SCOREBOARD_SEND, 0x120, "A@1,$0");
	expect(GT_XE3P, GT_SCOREBOARD_SEND, 0x042, "$2.inc");
	expect(GT_XE_HPG, GT_SCOREBOARD_SEND, 0x90, "A@1,$0");
	expect(GT_XE, GT_SCOREBOARD_MATH, 0xa0, "@2,$0");
}

TEST(states_what_it_does_not_know)
{
	ck_assert(gt_scoreboard_decode(GT_XE2, GT_SCOREBOARD_ORDERED, 0x031).unknown); /* S@ before Xe3 */
	ck_assert(gt_scoreboard_decode(GT_XE3, GT_SCOREBOARD_SEND, 0x042).unknown);    /* .inc before Xe3P */
	ck_assert(gt_scoreboard_decode(GT_XE, GT_SCOREBOARD_ORDERED, 0x11).unknown);   /* pipes before XeHP */
	ck_assert(!gt_scoreboard_decode(GT_XE3, GT_SCOREBOARD_ORDERED, 0x031).unknown);
}

static bool is_sound(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits)
{
	char text[GT_SCOREBOARD_TEXT];
	struct gt_scoreboard scoreboard = gt_scoreboard_decode(generation, class, bits);
	gt_scoreboard_format(&scoreboard, text);
	return scoreboard.token < 32 && scoreboard.distance < 16 && scoreboard.pipe < GT_PIPE_UNKNOWN &&
	       (scoreboard.distance > 0) == (scoreboard.pipe != GT_PIPE_NONE) && strlen(text) < sizeof text &&
	       (!scoreboard.unknown || (!scoreboard.distance && !scoreboard.action));
}

TEST(holds_for_any_bits)
{
	for (int generation = -1; generation <= GT_GENERATION_COUNT; generation++)
		for (int kind = GT_SCOREBOARD_ORDERED; kind <= GT_SCOREBOARD_MATRIX; kind++)
			for (unsigned bits = 0; bits < 0x800; bits++)
				if (!is_sound(generation, kind, bits))
					ck_abort_msg("generation %d, kind %d, bits %#x", generation, kind, bits);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
