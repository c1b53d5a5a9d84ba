/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling clock: one perf event per CPU, which calls a BPF program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "cpu_list.h"

/* Values of option "clock", in the order of its choices. */
enum sample_clock_choice { SAMPLE_CLOCK_AUTO = 0, SAMPLE_CLOCK_HARDWARE = 1, SAMPLE_CLOCK_SOFTWARE = 2 };

struct sample_clock_event {
	int descriptor;
	uint32_t cpu;
};

struct sample_clock {
	ARRAY(struct sample_clock_event) events;
	struct cpu_list online; /* time of the last read of the online CPUs */
	uint64_t frequency;
	int program_descriptor;
	bool hardware; /* counts cycles, which stop while the CPU sleeps; otherwise counts time */
};

/* For probe(): true if the clock can be opened. */
int sample_clock_check(const struct iaprof_host *host, enum sample_clock_choice choice);

/* Opens the clock on every online CPU, stopped. Returns 0, or a negative errno after host->fail(). */
int sample_clock_open(struct sample_clock *clock, const struct iaprof_host *host, enum sample_clock_choice choice,
		      uint64_t frequency, int program_descriptor);
int sample_clock_start(struct sample_clock *clock, const struct iaprof_host *host);
/*
 * Starts the clocks of CPUs that came online since the last call; *came is their number. A CPU that went offline and
 * came back between two calls is not noticed. Returns 0, or a negative errno after host->fail().
 */
int sample_clock_follow(struct sample_clock *clock, const struct iaprof_host *host, size_t *came);
/* After this call no handler is running. */
void sample_clock_stop(struct sample_clock *clock);
void sample_clock_close(struct sample_clock *clock);
