/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Stacks as BPF programs store them and user space reads them. */
#pragma once

#include <linux/types.h>

/* Number of addresses hashed at a time; the maximum depth is a multiple of it. */
#define STACK_HASH_STRIDE 8u

/* IAPROF_STACK_DEPTH_MAX */
#define STACK_DEPTH_MAX 1024u

/* Of the stacks of a sample: the values of enum iaprof_sample_flag. */
enum stack_flag {
	STACK_USER_MISSING = 1u << 0,
	STACK_KERNEL_MISSING = 1u << 1,
	STACK_TRUNCATED = 1u << 2,
	STACK_NO_TABLE = 1u << 3, /* the user stack ends at code without a table */
	STACK_UNREADABLE = 1u << 4
};
#define STACK_FLAGS 0x1fu
#define STACK_ENDS_EARLY (STACK_TRUNCATED | STACK_NO_TABLE | STACK_UNREADABLE)

/* The leaf is first. */
struct stack_addresses {
	__u64 depth;
	__u64 addresses[];
};

/* Size of a buffer for the deepest stack. */
#define STACK_ROOM (sizeof(struct stack_addresses) + STACK_DEPTH_MAX * sizeof(__u64))

/*
 * The value of a map of stacks. Few stacks are deep, so that a map with room for the deepest one in each value would be
 * mostly empty: a stack is one or more pieces, of which piece n has the key hash + n.
 */
#define STACK_PIECE_DEPTH 128u
#define STACK_PIECES (STACK_DEPTH_MAX / STACK_PIECE_DEPTH)
struct stack_piece {
	__u64 depth; /* of the whole stack; undefined in pieces other than the first */
	__u64 addresses[STACK_PIECE_DEPTH];
};
