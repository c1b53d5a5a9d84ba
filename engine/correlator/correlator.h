/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlator attributes stall samples, which consist of a device address and counts, to stacks: the code at the
 * address, and the call stack that launched it. It contains no hardware-specific code. It receives samples when all
 * records up to their time have arrived, or after CORRELATOR_HOLD; then:
 *
 * 1. Which processes had code at the address? (device_code; relative addresses with each known instruction base)
 * 2. Which of them kept the device busy in the samples' interval (activity), or launched the kernel (kernels)?
 * 3. If there are several, the samples are divided among them in proportion, and marked as ambiguous.
 * 4. The samples of a kernel are divided among the stacks that launched it, by number of launches in the interval.
 * 5. They have a span only if no other one is possible: the launch is known, or the only process with the code launched
 *    the kernel under this span alone, in the interval and in the time before it in which a kernel may still run.
 *
 * Samples at addresses without known code belong to kernels whose address is not known, if these alone explain them
 * (unplaced_kernels). Others stay in the profile as "[unknown device code]", or under the label that the source
 * reported for the only busy process. Nothing is dropped: the total is what the hardware counted. Owned by the
 * collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/clock.h"
#include "bus/intern.h"
#include "bus/result_stream.h"
#include "correlator/correlator_output.h"
#include "correlator/sampled_devices.h"
#include "process/process.h"
#include "correlator/device_code.h"
#include "symbolizer/frame_table.h"
#include "symbolizer/resolver.h"

/* Longest time that samples wait for their code object and other late records. */
#define CORRELATOR_HOLD (2 * NANOSECONDS_PER_SECOND)

struct correlator_options {
	struct intern *intern;
	struct process_table *processes;
	struct sampled_devices *devices;
	struct resolver *resolver;
	struct device_code *device_code;
	struct frame_table *frames;
	struct thread_table *threads; /* NULL: stacks of different threads and devices are merged */
	bool spans;                   /* stacks of different spans are not merged */
	struct correlator_output output;
	uint64_t time_resolution;      /* ns: resolution of times; 0: times are not kept */
	struct result_stream *results; /* for PROFILE_STACK, PROFILE_VALUE and CODE_LISTING records */
	uint64_t hold;                 /* ns, see CORRELATOR_HOLD */
	bool listings;                 /* a sink requested CODE_LISTING records */
};

/* Statistics across all devices. */
struct correlator_statistics {
	uint64_t samples;            /* all devices */
	uint64_t kernels_refused;    /* kernels dropped for lack of room */
	uint64_t launches_unknown;   /* launches of kernels that were not announced or were dropped */
	uint64_t launches_merged;    /* launches merged because a kernel had too many */
	uint64_t activity_dropped;   /* activity records dropped for lack of room */
	uint64_t bases_refused;      /* instruction bases dropped for lack of room */
	uint64_t functions_unlisted; /* locations in functions beyond the listing limit */
	uint64_t bytes_unlisted;     /* bytes omitted from listed functions */
	uint64_t stacks_unknown;     /* launch stacks that arrived too late to be resolved */
	uint64_t spans_dropped;      /* samples that lost their span: FRAME_TABLE_SPANS_MAX was reached */
	uint64_t out_of_memory;      /* samples lost */
};

struct correlator;

/* Returns NULL when out of memory. Objects in the options must outlive it. */
struct correlator *correlator_new(const struct correlator_options *options);
void correlator_free(struct correlator *correlator);

/* These process code, which device_code has processed first, and busy times of devices. */
void correlator_take_code_object(struct correlator *correlator, const struct iaprof_record_code_object *object);
void correlator_take_kernel(struct correlator *correlator, const struct iaprof_record_kernel *kernel);
void correlator_take_activity(struct correlator *correlator, const struct iaprof_record_device_activity *record);
/* Adds a launch to its kernel; the process events of its time are known. */
void correlator_take_launch(struct correlator *correlator, const struct iaprof_record_launch *record);
/* Attributes a sample, or keeps it for at most hold until its code is announced. */
void correlator_take_sample(struct correlator *correlator, const struct iaprof_record_stall_sample *sample);
/*
 * Adds a share, in ns, of the time of a device to the kernel that the job executed, as a sample of the whole kernel.
 * How much longer the job was is added to another value type: others overlapped it.
 */
void correlator_take_execution(struct correlator *correlator, const struct iaprof_record_job *job, uint64_t share);
/* Notes that a program ended, by exit or exec. */
void correlator_end_process(struct correlator *correlator, uint32_t pid, uint64_t time);
/*
 * Notes the time up to which process records are complete, UINT64_MAX: the end of the input. Attributes the samples
 * whose code was announced since, or that have waited for it. Before the samples of this SYNC.
 */
void correlator_begin_sync(struct correlator *correlator, uint64_t time);
/* Forgets what is too old for later samples. */
void correlator_end_sync(struct correlator *correlator);
/* Ends the input: adds the statistics of each device to the run's metadata. */
void correlator_finish(struct correlator *correlator);
/* Adds the attributed samples to the profile. */
void correlator_flush(struct correlator *correlator);
/*
 * Calls visit() for each reference to a stack of the frame table that is needed later. Ends when it returns false, and
 * returns that. Between correlator_flush() and correlator_forget_frames().
 */
bool correlator_each_stack(struct correlator *correlator, bool (*visit)(void *context, uint32_t *stack), void *context);
/* Forgets everything else that refers to the frame table. */
void correlator_forget_frames(struct correlator *correlator);

struct correlator_statistics correlator_statistics(const struct correlator *correlator);
