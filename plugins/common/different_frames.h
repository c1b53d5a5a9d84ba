/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a profile that a reader can tell apart: those that differ in more than their addresses, each once. */
#ifndef IAPROF_PLUGINS_COMMON_DIFFERENT_FRAMES_H
#define IAPROF_PLUGINS_COMMON_DIFFERENT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "common/stack_text.h"

#define FRAME_IS_HIDDEN UINT32_MAX

struct different_frames {
	const struct iaprof_frame **items; /* the profile's, valid as long as that */
	size_t count;
	bool lines;        /* the options tell source lines apart */
	uint32_t *numbers; /* by the id of a frame: its position in items, FRAME_IS_HIDDEN: the options hide it */
};

/* False when out of memory; free it in any case. */
bool different_frames_make(struct different_frames *frames, const struct iaprof_profile *profile,
			   const struct stack_text_options *options);
void different_frames_free(struct different_frames *frames);

/* The source line of one of them: 0: none, or several. A function of a device has one for each instruction in it. */
uint32_t different_frames_line(const struct different_frames *frames, const struct iaprof_frame *frame);

#endif
