/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Unwind tables, made from .eh_frame: for each address of an ELF file, the rule that leads from a frame to its caller.
 * A row has only 4 bytes, because a program has 20,000 of them per MB of code; equal rules are stored once.
 *
 * Rows are grouped by pages of code. index[p] is the position of the first row of page p, and index[page count] is the
 * number of rows. The first row of each page is at offset 0: a search never leaves its page.
 */
#pragma once

#include <linux/types.h>
#include <iaprof/unwind.h>
#include "bpf/stack.h"

/* Limit on the distinct rules of all files. */
#define UNWIND_RULE_COUNT 65536u

/* A page of code in the map of pages. */
struct unwind_page {
	__u32 first; /* position of the first row */
	__u32 count;
};

#define UNWIND_BLOCK_ROWS 16u

/* A value of the map of rows: one cache line. */
struct unwind_block {
	struct iaprof_unwind_row rows[UNWIND_BLOCK_ROWS];
};

/* Stands for no table: the code was generated at run time, or its file has no .eh_frame. */
#define UNWIND_TABLE_FRAME_POINTERS 0u
#define UNWIND_TABLE_COUNT 8192u

/* An executable mapping. The mappings of a process are adjacent in the map, by address. */
struct unwind_mapping {
	__u64 start, end;
	__u64 bias;       /* address in the process minus ELF virtual address */
	__u32 table;      /* key of the tables' maps, or UNWIND_TABLE_FRAME_POINTERS */
	__u32 first_page; /* first page of the table */
	__u32 page_count; /* number of pages of the table */
	__u32 position;   /* position of the first page in the map of pages */
};

struct unwind_process {
	__u64 execution; /* task_struct.self_exec_id when the mappings were read: execve(2) replaces them */
	__u32 first;     /* position of the first mapping */
	__u32 count;
};

/* A process whose user stacks cannot be unwound yet. */
struct unwind_question {
	__u64 execution;
	__u32 process;
	__u32 pad;
};

/*
 * x86-64: positions in struct pt_regs (arch/x86/include/uapi/asm/ptrace.h) of the registers with DWARF numbers 0 to 15,
 * 4 bits each from the lowest on. The stack pointer, number 7, is not among them.
 */
#define UNWIND_POSITIONS 0x01236789f4ed5bcaull
#define UNWIND_OTHERS 16u

/* User registers. */
struct unwind_registers {
	__u64 pc, sp, fp;
	__u64 is_behind_call; /* pc is a return address */
};

/*
 * A copy of the registers and the stack of a process that has no mappings yet. It is private data of the process: it is
 * unwound, then dropped, and never written anywhere.
 */
#define UNWIND_COPY_PAGE 4096u
#define UNWIND_COPY_PAGES 8u
#define UNWIND_COPY_SIZE (UNWIND_COPY_PAGES * UNWIND_COPY_PAGE)
struct unwind_copy {
	__u64 id; /* >= 1 */
	__u64 execution;
	__u64 time; /* CLOCK_MONOTONIC */
	__u32 process;
	__u16 size;  /* number of pages in bytes */
	__u16 pages; /* bit n: page n was read; a page that was never written cannot be */
	__u64 start; /* address of the first byte */
	struct unwind_registers registers;
	__u64 others[UNWIND_OTHERS]; /* by UNWIND_POSITIONS; all 0: not known */
	__u8 bytes[UNWIND_COPY_SIZE];
};

/* Why a stack ended. */
enum unwind_end {
	UNWIND_COMPLETE = 0,   /* at the outermost frame */
	UNWIND_UNKNOWN = 1,    /* at an address outside of all mappings, or in a process that has none yet */
	UNWIND_NO_RULE = 2,    /* at code with neither a rule nor a frame pointer */
	UNWIND_UNREADABLE = 3, /* the stack could not be read */
	UNWIND_TRUNCATED = 4,  /* there was no more room */
	UNWIND_NO_REGISTERS = 5,
	UNWIND_CONTINUES = 6, /* it has not ended */
};

/* Returns enum stack_flag for a stack that ended for this reason. */
static inline __attribute__((always_inline)) __u32 unwind_end_flag(__u32 end)
{
	return end == UNWIND_COMPLETE     ? 0
	       : end == UNWIND_UNREADABLE ? STACK_UNREADABLE
	       : end == UNWIND_TRUNCATED  ? STACK_TRUNCATED
					  : STACK_NO_TABLE;
}
