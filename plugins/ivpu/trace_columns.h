/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lines with columns, with or without a heading: see trace_form.h. */
#pragma once

#include "trace_form.h"

/* text: trimmed. Returns false if the line is not a heading of columns. */
bool trace_columns_take_heading(struct trace_form *form, struct text_span text);
/* Parses a line below a heading. Returns false if its columns do not fit. */
bool trace_columns_parse(const struct trace_form *form, struct text_span text, struct trace_line *line);
/* Parses a line without a heading, such as "123456789 1234 python3 kprobe:ivpu_open". text: not trimmed. */
bool trace_words_parse(struct text_span text, struct trace_line *line);
