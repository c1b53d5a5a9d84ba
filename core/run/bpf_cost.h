/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of the BPF programs of iaprof and of plugins in processes of their own, which the Linux kernel measures on
 * request (BPF_ENABLE_STATS). It then measures every BPF program of the machine, at 90 ns for each run: too much where
 * the network is made of them. They are therefore measured for about a second at a time. Beginning and ending a
 * measurement takes several ms, because Linux patches its code on all CPUs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

/* A program that is measured. */
struct bpf_cost_program {
	pid_t pid; /* of the process that has it open */
	int descriptor;
	uint32_t id;
	uint16_t source; /* number of the instance that it belongs to; 0: unknown */
	uint64_t time;   /* until the beginning, ns */
	double share;    /* its CPU time in the latest measurement, in CPUs */
};

/* A program of this process. */
struct bpf_cost_owned {
	uint32_t id;
	uint16_t source;
};

/* Initialise with {0}. */
struct bpf_cost {
	int descriptor; /* of the measurement; 0: there is none now */
	ARRAY(struct bpf_cost_owned) owned;
	ARRAY(struct bpf_cost_program) programs; /* in the latest measurement */
	uint64_t begin;                          /* of the latest measurement; 0: there was none */
};

/*
 * The programs that this process has opened since the last call belong to a source; 0: to none. Called before and after
 * each source loads its programs. Out of memory: what they cost is not attributed.
 */
void bpf_cost_claim(struct bpf_cost *cost, uint16_t source);
/*
 * Begins to measure the programs of this process, after an earlier measurement has ended. Needs CAP_SYS_ADMIN. Returns
 * 0 or a negative errno.
 */
int bpf_cost_begin(struct bpf_cost *cost);
/*
 * After that: adds the programs that the process of a source has open. Out of memory: those that are left out are not
 * measured.
 */
void bpf_cost_add(struct bpf_cost *cost, pid_t pid, uint16_t source);
/* Ends the measurement, if there is one that has lasted for so many ns. */
void bpf_cost_end(struct bpf_cost *cost, uint64_t least);
/* CPU time in the latest measurement that has ended, in CPUs: of all programs, and of those of a source. */
double bpf_cost_all(const struct bpf_cost *cost);
double bpf_cost_of(const struct bpf_cost *cost, uint16_t source);
/* Ends a measurement. */
void bpf_cost_free(struct bpf_cost *cost);
