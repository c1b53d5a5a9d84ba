/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Copies the stack of the running task, for user space to unwind (unwind_copy.h). */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/unwind.bpf.h"

/* Copies the page of the stack pointer and those above it. */
static __always_inline void unwind_copy_take(struct unwind_copy *copy, const struct unwind_registers *registers)
{
	copy->registers = *registers;
	unwind_others_copy(copy->others, registers);
	copy->start = registers->sp & ~(__u64)(UNWIND_COPY_PAGE - 1);
	copy->size = copy->pages = 0;
#pragma unroll
	for (__u32 page = 0; page < UNWIND_COPY_PAGES; page++) {
		__u32 offset = page * UNWIND_COPY_PAGE;
		if (!bpf_probe_read_user(copy->bytes + offset, UNWIND_COPY_PAGE,
					 (const void *)(copy->start + offset))) {
			copy->size = page + 1;
			copy->pages |= 1u << page;
		}
	}
}

/* Returns the size of a copy with its head, for a ring buffer. */
static __always_inline __u64 unwind_copy_bytes(const struct unwind_copy *copy)
{
	__u64 pages = copy->size;
	return sizeof *copy - UNWIND_COPY_SIZE +
	       (pages < UNWIND_COPY_PAGES ? pages * UNWIND_COPY_PAGE : UNWIND_COPY_SIZE);
}
