/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file that may define otel_thread_ctx_v1: what is known of the variable agrees with itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/thread_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_file elf;
	struct iaprof_thread_context context;
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes, size);
	if (elf_file_open_memory(&elf, copy, size))
		return 0;
	thread_context_find(&context, &elf);
	bool has_slot = context.access >= IAPROF_THREAD_CONTEXT_STATIC;
	if (context.access > IAPROF_THREAD_CONTEXT_MODULE || has_slot != (context.slot != 0) ||
	    (context.access == IAPROF_THREAD_CONTEXT_OFFSET) != (context.offset < 0))
		abort();
	elf_file_close(&elf);
	return 0;
}
