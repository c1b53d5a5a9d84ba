/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames from the text of a stack, "program;function;function", by the suffixes that sink folded and the stackcollapse
 * programs put on them. Frames keep what their text says: written by sink folded again they are the same.
 */
#ifndef IAPROF_PLUGINS_REPLAY_FOLDED_FRAMES_H
#define IAPROF_PLUGINS_REPLAY_FOLDED_FRAMES_H

#include "text_profile.h"

/* The stack of a whole line, the program first. How many frames: 1 to TEXT_FRAMES_MAX; *is_cut: there are more. */
uint32_t folded_frames_read(struct text_span stack, struct text_frame *frames, bool *is_cut);

/* A frame of the CPU's part of a stack, below the program. */
struct text_frame folded_frame_read(struct text_span text);

#endif
