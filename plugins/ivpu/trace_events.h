/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the name and fields of an event of vpu, gpu_scheduler or kprobes: see trace_task.h. */
#pragma once

#include "trace_text.h"

/* text: "vpu:job: create context:3 engine:0 job:769", trimmed. Returns false for other events. */
bool trace_event_parse(struct text_span text, struct trace_line *line);
