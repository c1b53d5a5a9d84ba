/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of the BPF programs of this process, which the Linux kernel measures on request (BPF_ENABLE_STATS). It then
 * measures every BPF program of the machine, at 90 ns for each run: too much where the network is made of them. They
 * are therefore measured for about a second, once in an interval.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_cost {
	int descriptor;       /* of the measurement; 0: there is none now */
	uint64_t begin, time; /* when it began, and the time of the programs until then, ns */
	double share;         /* CPU time of the programs in the latest measurement, in CPUs */
};

/* Begins to measure. Needs CAP_SYS_ADMIN. Returns 0 or a negative errno. */
int bpf_cost_begin(struct bpf_cost *cost);
/* Ends the measurement and sets share, if there is one that has lasted for so many ns. */
void bpf_cost_end(struct bpf_cost *cost, uint64_t least);
