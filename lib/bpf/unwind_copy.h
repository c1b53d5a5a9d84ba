/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds a copy of a stack (struct unwind_copy) as unwind.bpf.h unwinds the stack itself. */
#pragma once

#include "bpf/unwinder.h"

/*
 * Returns a copy, of which size bytes were sent, in memory that core dumps omit; NULL if there is none. A copy is
 * private memory of another program: drop it as soon as it is unwound.
 */
struct unwind_copy *unwind_copy_keep(const void *copy, size_t size);
void unwind_copy_drop(struct unwind_copy *copy);

/*
 * Stores at most max addresses, the leaf first. Returns enum unwind_end: UNWIND_UNKNOWN if the process has no mappings
 * yet, or none for the last address; UNWIND_TRUNCATED also if the stack continues outside of the copy: further up, or,
 * for a signal handler with a stack of its own (sigaltstack(2)), on the stack of the interrupted code.
 */
uint32_t unwind_copy_walk(const struct unwinder *unwinder, const struct unwind_copy *copy, uint64_t *addresses,
			  uint32_t max, uint32_t *depth);
