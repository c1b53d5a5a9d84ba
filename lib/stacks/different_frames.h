/* SPDX-License-Identifier: Apache-2.0 */
/* The distinct frames of a profile: frames that differ in more than their addresses, each once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "stacks/stack_text.h"

#define FRAME_IS_HIDDEN UINT32_MAX

struct different_frames {
	const struct iaprof_frame **items; /* the profile's frames; valid for the lifetime of the profile */
	size_t count;
	bool lines;        /* the options distinguish source lines */
	bool has_classes;  /* the profile's frames have classes of kernels */
	uint32_t *numbers; /* by frame id: position in items; FRAME_IS_HIDDEN: the options hide the frame */
};

/* Returns false when out of memory. Call different_frames_free() in either case. */
bool different_frames_make(struct different_frames *frames, const struct iaprof_profile *profile,
			   const struct stack_text_options *options);
void different_frames_free(struct different_frames *frames);

/*
 * Returns the source line of one of them; 0 if it has none, or several, as device functions have one per instruction.
 */
uint32_t different_frames_line(const struct different_frames *frames, const struct iaprof_frame *frame);

/* Returns the class of a GPU kernel by the rules of the run; NULL: none. */
const char *different_frames_class(const struct different_frames *frames, const struct iaprof_frame *frame);
/* Returns the class of any code: of a GPU kernel, or what code of a library does; NULL: none. */
const char *different_frames_code_class(const struct different_frames *frames, const struct iaprof_frame *frame);
