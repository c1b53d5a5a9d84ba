/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A stack as BPF programs store it and user space reads it: the value of a map of stacks by hash. */
#ifndef IAPROF_BPF_STACK_H
#define IAPROF_BPF_STACK_H

#include <linux/types.h>

/* Stacks are hashed so many addresses at a time; room for addresses is a multiple of it. */
#define STACK_HASH_STRIDE 8u

/* As long as the deepest stack that is taken. The leaf is first. */
struct stack_addresses {
	__u64 depth;
	__u64 addresses[];
};

#endif
