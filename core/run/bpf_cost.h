/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of the BPF programs of this process, which the Linux kernel measures on request (BPF_ENABLE_STATS). */
#ifndef IAPROF_CORE_RUN_BPF_COST_H
#define IAPROF_CORE_RUN_BPF_COST_H

#include <stdint.h>

/*
 * Has the Linux kernel measure all BPF programs until the descriptor is closed, which takes some tens of nanoseconds
 * for each run of a program. Needs CAP_SYS_ADMIN. Returns a descriptor or a negative errno.
 */
int bpf_cost_enable(void);

/* Returns the CPU time in ns of the programs that this process has open, while it was measured. */
uint64_t bpf_cost_now(void);

#endif
