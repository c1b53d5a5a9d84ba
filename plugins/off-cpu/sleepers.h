/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are asleep when the run begins. BPF programs take the stacks of a thread when it leaves a CPU; those of
 * these are read by an iterator, as registers and a copy of the user stack, which is unwound here.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>
#include "base/keyed_array.h"
#include "bpf/unwinder.h"
#include "broker/broker.h"
#include "off-cpu.h"

struct bpf_program;

struct sleeper {
	uint32_t key; /* thread */
	uint32_t user_depth;
	uint64_t *user;           /* addresses; NULL: none, or not unwound yet */
	uint32_t end;             /* enum unwind_end */
	struct unwind_copy *copy; /* NULL: unwound, or none */
	struct off_cpu_sleeper thread;
};

/* Initialise with {0} and host. */
struct sleepers {
	const struct iaprof_host *host;
	struct broker *broker; /* reads the iterators; NULL: not started yet */
	KEYED_ARRAY(struct sleeper) threads;
	uint64_t bytes;   /* of all copies */
	uint64_t refused; /* threads for which there was no room or no time */
};

/* Runs an iterator over threads, and takes what it sends. Returns 0 or a negative errno, as broker_read_descriptor().
 */
int sleepers_read(struct sleepers *sleepers, const struct bpf_program *iterator);
/* Asks for the tables of processes whose stacks cannot be unwound yet. */
void sleepers_ask(const struct sleepers *sleepers, const struct unwinder *unwinder);
/* Unwinds the stacks of a process, or of all if 0. last: what cannot be unwound now never will. */
void sleepers_unwind(struct sleepers *sleepers, const struct unwinder *unwinder, uint32_t process, bool last);
const struct sleeper *sleepers_find(const struct sleepers *sleepers, uint32_t thread);
void sleepers_free(struct sleepers *sleepers);
