/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the stall reasons of CUPTI, which are known at run time only, by iaprof's words. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <iaprof/record.h>

#define STALL_PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define STALL_NOT_ISSUED "_not_issued"

struct stall_word {
	const char *name; /* the part of CUPTI's name that differs */
	uint32_t stall_class;
};

/* Returns CUPTI's name without what all names share: "long_scoreboard". */
static inline const char *stall_name_of(const char *name)
{
	return strncmp(name, STALL_PREFIX, strlen(STALL_PREFIX)) ? name : name + strlen(STALL_PREFIX);
}

/* "long_scoreboard_not_issued": samples that are counted under long_scoreboard, too. */
static inline bool is_part_of_a_reason(const char *name)
{
	size_t length = strlen(name), end = strlen(STALL_NOT_ISSUED);
	return length > end && !strcmp(name + length - end, STALL_NOT_ISSUED);
}

/* Whether the instruction waits for the result of another one, which the decoder finds. */
static inline bool stall_waits_for_result(const char *name)
{
	return strcmp(stall_name_of(name), "long_scoreboard") == 0 ||
	       strcmp(stall_name_of(name), "short_scoreboard") == 0;
}

/* Meanings: Nsight Compute's documentation, "Warp Stall Reasons". */
static inline uint32_t stall_class_of(const char *name)
{
	static const struct stall_word words[] = {
		{ "barrier", IAPROF_STALL_BARRIER },
		{ "branch_resolve", IAPROF_STALL_BRANCH },
		{ "dispatch_stall", IAPROF_STALL_PIPELINE },
		{ "drain", IAPROF_STALL_QUEUE },
		{ "gmma", IAPROF_STALL_DATA },
		{ "imc_miss", IAPROF_STALL_DATA },
		{ "lg_throttle", IAPROF_STALL_QUEUE },
		{ "long_scoreboard", IAPROF_STALL_DATA },
		{ "math_pipe_throttle", IAPROF_STALL_PIPELINE },
		{ "membar", IAPROF_STALL_BARRIER },
		{ "mio_throttle", IAPROF_STALL_QUEUE },
		{ "misc", IAPROF_STALL_OTHER },
		{ "no_instructions", IAPROF_STALL_FETCH },
		{ "no_inst", IAPROF_STALL_FETCH },
		{ "not_selected", IAPROF_STALL_PIPELINE },
		{ "selected", IAPROF_STALL_ISSUING },
		{ "short_scoreboard", IAPROF_STALL_DATA },
		{ "sleeping", IAPROF_STALL_OTHER },
		{ "tex_throttle", IAPROF_STALL_QUEUE },
		{ "wait", IAPROF_STALL_ARITHMETIC },
		{ "warpgroup_arrive", IAPROF_STALL_BARRIER },
	};
	const char *part = stall_name_of(name);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].name, part))
			return words[i].stall_class;
	return IAPROF_STALL_UNKNOWN;
}
