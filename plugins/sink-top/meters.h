/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Utilization of the CPUs and of each device over time, in slots of equal width. A slot without evidence is unknown,
 * not zero. Without pointers, so that a paused view can copy it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/activity.h>

#define METERS_MAX 12u
#define METER_SLOTS 512u
#define METER_LABEL_SIZE 48u

/* Evidence of a meter; the highest one is used. */
enum meter_kind {
	METER_UNKNOWN,
	METER_JOBS,  /* jobs, which are known only when they end: slots without jobs are unknown */
	METER_BUSY,  /* busy time, which a source reports whenever there is some: slots without it are idle */
	METER_GAUGE, /* a counter in percent */
};

struct meter {
	char label[METER_LABEL_SIZE];
	bool is_cpu;
	uint32_t source, device;
	enum meter_kind kind;
	uint64_t counter_count;      /* number of values of the counter so far */
	uint64_t first;              /* METER_BUSY: time of the first evidence */
	uint64_t last_end;           /* of the latest job, before which the next one did not run, or gauge */
	double amounts[METER_SLOTS]; /* busy ns */
	double covered[METER_SLOTS]; /* ns for which there is evidence, counted for each job */
};

struct meters {
	uint64_t width; /* of a slot, ns; 0: nothing is kept */
	bool recorded;  /* keeps the whole run in wider slots, instead of the latest ones */
	uint32_t cpus;  /* 0: unknown */
	uint64_t begin; /* of the first slot, CLOCK_MONOTONIC ns; 0: none */
	uint64_t end;   /* of what is complete */
	uint64_t last;  /* latest time in any slot */
	struct meter items[METERS_MAX];
	uint32_t count;
};

/* interval: of profiles, in ns; 0: none. recorded: the data is. */
void meters_init(struct meters *meters, uint64_t interval, bool recorded);
/* Finds or adds the meter of a device. Returns NULL if there are too many. */
struct meter *meters_device(struct meters *meters, uint32_t source, uint32_t device, const char *label);
struct meter *meters_cpu(struct meters *meters);
/* Adds busy ns between two times. */
void meters_add_busy(struct meters *meters, struct meter *meter, enum meter_kind kind, uint64_t begin, uint64_t end,
		     uint64_t busy);
/* Takes utilization counters of devices. */
void meters_take_counter(struct meters *meters, const struct iaprof_counter *counter,
			 const struct iaprof_activity *activity, uint64_t end);
/* A profile ends here; live sources may still report what is less than a second older. */
void meters_advance(struct meters *meters, uint64_t end);

/* Returns the number of complete slots. */
uint32_t meters_slots(const struct meters *meters);
/* Return a utilization in percent, at most 100; NAN: unknown. */
double meter_slot(const struct meters *meters, const struct meter *meter, uint32_t slot);
double meter_slots_mean(const struct meters *meters, const struct meter *meter, uint32_t from, uint32_t to);
double meter_now(const struct meters *meters, const struct meter *meter);
double meter_mean(const struct meters *meters, const struct meter *meter);
/* Returns the meters in the order in which they are shown: the CPUs come first. position: below count. */
const struct meter *meters_at(const struct meters *meters, uint32_t position);
