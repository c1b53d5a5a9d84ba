/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlator: from stall samples, which have an address of a device and nothing else, to stacks: whose code it is,
 * and who launched it. Knows no hardware. Samples wait until everything that was told of their time has been taken, at
 * most CORRELATOR_HOLD; then:
 *
 * 1. Which processes had code at the address? (device_code; relative addresses with each known instruction base)
 * 2. Which of them kept the device busy in the samples' interval (activity), or launched the kernel (kernels)?
 * 3. Samples of several go to each in proportion, and are marked ambiguous.
 * 4. Those of one kernel go to the stacks that launched it, by how often each did in the interval.
 *
 * What nobody's code covers stays in the profile as "[unknown device code]", or as what the source says that the only
 * busy process runs besides its code objects. Nothing is dropped: the total is what the hardware counted. Belongs to
 * the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_CORRELATOR_H
#define IAPROF_CORE_CORRELATOR_CORRELATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/clock.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "correlator/devices.h"
#include "process/process.h"
#include "profile/device_code.h"
#include "profile/frame_table.h"
#include "profile/resolver.h"
#include "profile/run_facts.h"
#include "profile/time_table.h"
#include "profile/value_table.h"

/* How long samples wait for their code object, and for what else is told late. */
#define CORRELATOR_HOLD (2 * NANOSECONDS_PER_SECOND)

/* What stall samples count, as a value type. */
#define CORRELATOR_VALUE_TYPE "gpu-stalls"
#define CORRELATOR_VALUE_UNIT "count"

struct correlator_options {
	struct intern *intern;
	struct process_table *processes;
	struct resolver *resolver;
	struct device_code *device_code;
	struct frame_table *frames;
	struct value_table *values;
	struct time_table *times;
	struct run_facts *facts;
	struct bus *bus; /* where PROFILE_STACK and PROFILE_VALUE records go; NULL: nobody wants them */
	uint64_t hold;   /* ns, see CORRELATOR_HOLD */
	bool producers;  /* a sink wants frames for what instructions wait for */
	bool listings;   /* a sink wants CODE_LISTING records */
};

/* What is not about one device. */
struct correlator_statistics {
	uint64_t samples;            /* of all devices, also those that still wait */
	uint64_t kernels_refused;    /* kernels for which there was no room */
	uint64_t launches_unknown;   /* launches of kernels that were not announced, or were refused */
	uint64_t launches_merged;    /* launches whose times or stacks are not told apart: a kernel had too many */
	uint64_t activity_dropped;   /* records of who was busy, for which there was no room */
	uint64_t bases_refused;      /* instruction bases for which there was no room */
	uint64_t hurried;            /* samples that could not wait: too many did */
	uint64_t functions_unlisted; /* places in functions that were too many to list */
	uint64_t bytes_unlisted;     /* of functions that were listed */
	uint64_t stacks_unknown;     /* stacks of launches that came too late to be named */
	uint64_t out_of_memory;      /* samples that are missing */
};

struct correlator;

/* NULL: out of memory. What the options name outlives it. */
struct correlator *correlator_new(const struct correlator_options *options);
void correlator_free(struct correlator *correlator);

/* Takes a record if it is one of those that it needs: after device_code has taken it. */
void correlator_take(struct correlator *correlator, const struct iaprof_record *record);
/* A program ended, by exit or exec. */
void correlator_end_process(struct correlator *correlator, uint32_t pid, uint64_t time);
/* Everything about processes has been told up to a time: matches what can be. */
void correlator_sync(struct correlator *correlator, uint64_t time);
/* Nothing more comes: matches what waits, and notes what became of each device's samples as metadata of the run. */
void correlator_finish(struct correlator *correlator);
/* Puts what was matched into the profile. */
void correlator_flush(struct correlator *correlator);

/* What became of the samples of each device, in the order in which they were announced; good until the next call. */
const struct sampled_device *correlator_devices(const struct correlator *correlator, size_t *count);
struct correlator_statistics correlator_statistics(const struct correlator *correlator);

#endif
