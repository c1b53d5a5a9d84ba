/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of lines of function_graph: see trace_task.h. */
#pragma once

#include "trace_text.h"

/* Parses "  1.234 us   |  NAME();", "  |  NAME() {" or "  5.678 us  |  }". */
void trace_graph_set_body(struct text_span text, struct trace_line *line);

/* Of trace_task.c. Stores the task of "COMM-PID". Returns false if the text is something else. */
bool trace_task_take_name(struct text_span text, struct trace_line *line);
/* Stores a function; the kind is OTHER if it is not one of the driver. Returns false if it is not a function. */
bool trace_task_set_function(struct trace_line *line, struct text_span name);
