/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of an earlier run, and leaves it to a later one: user space's side of handover.bpf.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ze_usdt_bpf;

/* Initialise with {0}; skeleton is set when it is loaded. */
struct handover {
	struct ze_usdt_bpf *skeleton;
	int map;    /* of the earlier run; 0: there is none */
	bool waits; /* for the earlier run to end: until then, it counts in memory and loads the tracer */
};

/* Before the programs are loaded. Returns 0 or a negative errno. */
int handover_inherit(struct handover *handover, const struct ze_usdt_bpf *earlier);
/* limit() of iaprof/plugin.h. */
void handover_limit(struct handover *handover, uint64_t begin, uint64_t end);
/* Returns the time from which the later run records, or UINT64_MAX. Any thread. */
uint64_t handover_time(const struct handover *handover);
/* Returns whether the earlier run has just ended: true once. */
bool handover_earlier_ended(struct handover *handover, uint64_t now);
/* This run has read everything: the later one need not wait any more. */
void handover_end(const struct handover *handover);
void handover_free(struct handover *handover);
