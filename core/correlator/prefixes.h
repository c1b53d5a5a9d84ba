/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU's part of the stacks of device samples: program, user frames and Linux kernel frames, resolved, as an index
 * of a stack in the frame table. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_PREFIXES_H
#define IAPROF_CORE_CORRELATOR_PREFIXES_H

#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"
#include "profile/sample_stack.h"

enum prefix_kind {
	PREFIX_OF_UNKNOWN_CODE = 1, /* only the program is known, if at all */
	PREFIX_NOT_LAUNCHED = 2,    /* nobody was seen to launch it */
	PREFIX_LAUNCHED = 3
};

/* What makes a prefix. No padding: it is compared as bytes. */
struct prefix_key {
	uint32_t process; /* serial of the program image; 0: the pid was never heard of */
	uint32_t pid;
	uint32_t user_stack, kernel_stack;
	uint32_t kind; /* enum prefix_kind; the stacks are 0 but for PREFIX_LAUNCHED */
};

struct prefix {
	struct prefix_key key;
	uint32_t stack;
};

/* Initialise with {0} and the context, with pids. */
struct prefixes {
	struct sample_stack_context context;
	ARRAY(struct prefix) items;
	struct hash_index index;
};

void prefixes_free(struct prefixes *prefixes);

/* A launch from these stacks (0: not known) in a process at a time. FRAME_NONE: out of memory. */
uint32_t prefixes_of_launch(struct prefixes *prefixes, uint32_t pid, uint64_t time, uint32_t user_stack,
			    uint32_t kernel_stack);
/* A process (0: not known) that was not seen to launch it; kind: one of the first two. */
uint32_t prefixes_of_process(struct prefixes *prefixes, uint32_t pid, uint64_t time, enum prefix_kind kind);

#endif
