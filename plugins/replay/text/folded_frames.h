/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text of a stack, "program;function;function", into frames, by the suffixes of sink folded and the
 * stackcollapse programs. Sink folded then writes the same text again.
 */
#pragma once

#include "text_profile.h"

/*
 * Parses the stack of a whole line, the program first. Returns the number of frames, 1 to TEXT_FRAMES_MAX; *is_cut: the
 * stack is deeper.
 */
uint32_t folded_frames_read(struct text_span stack, struct text_frame *frames, bool *is_cut);

/* Parses a frame of the CPU part of a stack, below the program. */
struct text_frame folded_frame_read(struct text_span text);
