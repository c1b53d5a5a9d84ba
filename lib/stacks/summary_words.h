/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the answer in a profile: shares, functions and their places. */
#pragma once

#include <stdint.h>
#include <iaprof/profile.h>

#include "text/text.h"

/* Appends "12.3 %". */
void summary_append_share(struct text *text, uint64_t part, uint64_t whole);
/* Appends "attention.cl:87", without a line if it is not known. */
void summary_append_place(struct text *text, const struct iaprof_frame *frame);
/* Appends the name; that of a C++ template is shortened to what distinguishes it. */
void summary_append_function(struct text *text, const struct iaprof_frame *frame);
/* Appends "attention_fwd, attention.cl:87": file and line, or else the module, as far as they are known.
 * Generated code is in no module. */
void summary_append_frame(struct text *text, const struct iaprof_frame *frame);
