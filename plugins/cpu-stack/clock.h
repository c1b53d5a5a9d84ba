/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that ticks on every CPU: one perf event for each, which calls a BPF program. */
#ifndef IAPROF_CPU_STACK_CLOCK_H
#define IAPROF_CPU_STACK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* The values of option "clock", in its order. */
enum sample_clock_choice { SAMPLE_CLOCK_AUTO = 0, SAMPLE_CLOCK_HARDWARE = 1, SAMPLE_CLOCK_SOFTWARE = 2 };

struct sample_clock_event {
	int descriptor;
	uint32_t cpu;
};

struct sample_clock {
	struct sample_clock_event *events;
	size_t event_count;
	bool hardware; /* counts cycles, which stand still while the CPU sleeps; else time */
};

/* The CPUs that are online. Returns 0, with *cpus to be freed by the caller, or a negative errno after host->fail(). */
int cpu_list_read(const struct iaprof_host *host, uint32_t **cpus, size_t *count);

/* For probe(): could the clock be opened? */
int sample_clock_check(const struct iaprof_host *host, enum sample_clock_choice choice);

/* Opens the clock on every CPU that is online, standing still. Returns 0, or a negative errno after host->fail(). */
int sample_clock_open(struct sample_clock *clock, const struct iaprof_host *host, enum sample_clock_choice choice,
		      uint64_t frequency, int program_descriptor);
int sample_clock_start(struct sample_clock *clock, const struct iaprof_host *host);
/* No handler runs any more when this returns. */
void sample_clock_stop(struct sample_clock *clock);
void sample_clock_close(struct sample_clock *clock);

#endif
