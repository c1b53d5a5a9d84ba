/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that ticks on every CPU: one perf event for each, which calls a BPF program. */
#ifndef IAPROF_CPU_STACK_CLOCK_H
#define IAPROF_CPU_STACK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "cpu_list.h"

/* The values of option "clock", in its order. */
enum sample_clock_choice { SAMPLE_CLOCK_AUTO = 0, SAMPLE_CLOCK_HARDWARE = 1, SAMPLE_CLOCK_SOFTWARE = 2 };

struct sample_clock_event {
	int descriptor;
	uint32_t cpu;
};

struct sample_clock {
	struct sample_clock_event *events;
	size_t event_count;
	struct cpu_list online; /* when it was looked last */
	uint64_t frequency;
	int program_descriptor;
	bool hardware; /* counts cycles, which stand still while the CPU sleeps; else time */
};

/* For probe(): could the clock be opened? */
int sample_clock_check(const struct iaprof_host *host, enum sample_clock_choice choice);

/* Opens the clock on every CPU that is online, standing still. Returns 0, or a negative errno after host->fail(). */
int sample_clock_open(struct sample_clock *clock, const struct iaprof_host *host, enum sample_clock_choice choice,
		      uint64_t frequency, int program_descriptor);
int sample_clock_start(struct sample_clock *clock, const struct iaprof_host *host);
/*
 * Looks which CPUs came online since the last look and starts their clocks; *came is their number. A CPU that was away
 * and is back between two looks is not noticed. Returns 0, or a negative errno after host->fail().
 */
int sample_clock_follow(struct sample_clock *clock, const struct iaprof_host *host, size_t *came);
/* No handler runs any more when this returns. */
void sample_clock_stop(struct sample_clock *clock);
void sample_clock_close(struct sample_clock *clock);

#endif
