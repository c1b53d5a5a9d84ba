/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detaches BPF programs from many probes at once. The last close of a link waits for grace periods of the Linux kernel,
 * 20 to 200 ms each, which closes at the same time share. libbpf closes one link after the other, so duplicates hold
 * the links of this process meanwhile, which threads close.
 */
#pragma once

#include "base/array.h"

struct link_holds {
	ARRAY(int) descriptors;
};

/* Duplicates the links and perf events of this process. What cannot be duplicated is closed in turn. */
void link_holds_take(struct link_holds *holds);
/* Closes the duplicates after links were destroyed. Returns when all are detached. */
void link_holds_close(struct link_holds *holds);
