/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, devices and spans of stacks as frames, which a tree of stacks has below the program or the leaf. */
#pragma once

#include "base/array.h"
#include "stack_spans.h"
#include "stacks/different_frames.h"

/* Kinds of these frames, beside enum iaprof_frame_kind (page/data.js). The pid of a thread's frame is the tid. */
enum stack_origin_kind { STACK_ORIGIN_THREAD = 101, STACK_ORIGIN_DEVICE = 102, STACK_ORIGIN_SPAN = 103 };

#define STACK_ORIGIN_NONE UINT32_MAX

struct stack_origins {
	ARRAY(struct iaprof_frame) frames;
	/* By stack: frame number in struct different_frames; STACK_ORIGIN_NONE: none. */
	uint32_t *threads, *devices, *spans;
	struct stack_spans span_names;
};

/*
 * Appends the frames to those of the profile. With devices, threads are left out of processes that have only one, and
 * devices if there is only one. Spans of a difference are left out: two runs have none in common. Returns false when
 * out of memory. Call stack_origins_free() after different_frames_free().
 */
bool stack_origins_make(struct stack_origins *origins, struct different_frames *frames,
			const struct iaprof_profile *profile, uint64_t /* enum stack_text_threads */ threads,
			bool has_devices, bool has_spans);
void stack_origins_free(struct stack_origins *origins);
