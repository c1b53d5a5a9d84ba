/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the variable otel_thread_ctx_v1 in an ELF file, by which threads publish the span they work on, and how the
 * file accesses it: OpenTelemetry's enhancement proposal 4947 (thread context). x86-64. Parses hostile data: call it in
 * a child of the worker.
 */
#pragma once

#include <iaprof/unwind.h>
#include "symbolizer/elf_file.h"

/* Sets all members; access is IAPROF_THREAD_CONTEXT_NONE if the file does not define the variable. */
void thread_context_find(struct iaprof_thread_context *context, const struct elf_file *elf);
