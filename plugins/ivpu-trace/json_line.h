/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of bpftrace -f json as the lines that bpftrace writes without that option: {"type": "map", "data": {"@calls":
 * {"ivpu_open": 3}}} is "@calls[ivpu_open]: 3". Pure.
 */
#pragma once

#include <stdbool.h>

#include "text/text_span.h"

/* Returns whether a line may be one of bpftrace -f json. */
bool trace_json_is(struct text_span line);
/* Passes the lines that it stands for. Returns false if it is damaged; lines before the damage were passed. */
bool trace_json_convert(struct text_span line, void (*take)(void *context, struct text_span line), void *context);
