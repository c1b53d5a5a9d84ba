/* SPDX-License-Identifier: Apache-2.0 */
/* What sinks write about stall reasons, by class: one text for each, whatever the hardware calls the reason. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#define STALL_CLASS_COUNT (IAPROF_STALL_ISSUING + 1u)

struct stall_class {
	const char *label;   /* "Data dependency" */
	const char *waits;   /* "waits for data": a verb phrase after "24 % of GPU time" */
	const char *until;   /* "data arrives": what ends it; "" for IAPROF_STALL_ISSUING */
	const char *meaning; /* one sentence */
	const char *advice;  /* what to try, one sentence; "" none */
};

/* By enum iaprof_stall_class; IAPROF_STALL_UNKNOWN has the texts of IAPROF_STALL_OTHER. */
extern const struct stall_class stall_classes[STALL_CLASS_COUNT];

/* Ditto, for kernels of class "copy" that wait for memory: what makes a copy faster is no copy. */
#define STALL_ADVICE_COPY                                                                                              \
	"This kernel only copies data. Avoid the copy: keep the data in the memory, and in the layout, in which they " \
	"are used."

/* For kernels of class "collective", which wait for other ranks. */
#define STALL_ADVICE_COLLECTIVE                                                                                        \
	"This kernel exchanges data with other ranks, and waits until they come. Give all ranks the same amount of "   \
	"work, let the exchange overlap with computation, or exchange less."
bool kernel_class_is_collective(const char *kernel_class);

/* Returns what to try against the time of a kernel of a class, whatever it waits for; NULL: nothing. May be NULL. */
const char *kernel_class_advice(const char *kernel_class);
/* Returns what to try against a stall in a kernel; "": nothing. kernel_class: by the rules of the run; may be NULL. */
const char *stall_advice(uint32_t stall_class, const char *kernel_class);

/*
 * Returns the class of a frame of kind IAPROF_FRAME_STALL_REASON, never IAPROF_STALL_UNKNOWN. Stacks recorded before
 * reasons had classes are recognized by the names that Intel's driver uses.
 */
uint32_t stall_class_of(const struct iaprof_frame *frame);
