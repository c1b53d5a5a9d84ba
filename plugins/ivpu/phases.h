/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of NPU use. Each call belongs to exactly one phase, which its callers determine: a page map in a
 * submission is "map", and everything during a firmware boot is "firmware boot". Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ivpu_phase {
	IVPU_PHASE_UNKNOWN, /* neither the function nor its callers determine it */
	IVPU_PHASE_OPEN,
	IVPU_PHASE_BOOT,
	IVPU_PHASE_ALLOCATE,
	IVPU_PHASE_MAP,
	IVPU_PHASE_RUN,
	IVPU_PHASE_IDLE, /* suspend, and time without jobs and calls */
	IVPU_PHASE_TEARDOWN,
	IVPU_PHASE_RECOVERY,
	IVPU_PHASE_COUNT
};

/* Where a call is, as its callers determine it. {0}: it has none. */
struct ivpu_place {
	enum ivpu_phase phase;
	bool in_submit; /* of a job, without the buffers that the driver allocates for itself */
};

/* Returns the place of a call of a function whose caller has a place. is_submit: it submits a job. */
struct ivpu_place ivpu_place_of(struct ivpu_place caller, const char *function, bool is_submit);

/* function: in the form of call_graph.h. caller: phase of its caller, IVPU_PHASE_UNKNOWN if it has none. */
enum ivpu_phase ivpu_phase_of(enum ivpu_phase caller, const char *function);

/* Returns "firmware boot", for example. */
const char *ivpu_phase_name(uint32_t phase);
/* Returns the name of its note, such as "npu-phase-boot". */
const char *ivpu_phase_note(uint32_t phase);
