/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer in a profile: which GPU kernels take the time, which lines stall for what, what they wait for and who
 * launched them; without device samples, which functions of a program take the CPU's time, or wait. Facts that are not
 * known are NULL or 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "stacks/program_answer.h"
#include "stacks/stall_class.h"
#include "text/text.h"

#define SUMMARY_CAUSES_MAX 8u

/* A GPU kernel, or a function of the CPU. Frames are borrowed from the profile. */
struct summary_function {
	const struct iaprof_frame *frame;
	const struct iaprof_frame *launch; /* the frame of the program that launched it most; NULL not known */
	const char *kernel_class;          /* by the rules of the run; NULL: none */
	uint64_t value;                    /* kernels: all that runs in it; CPU functions: without callees */
	uint64_t launch_value;             /* of the kernel, launched from there */
	uint64_t samples;                  /* of a kernel whose value is device time: its device samples */
	/*
	 * How much of the device a kernel uses: samples, which are taken only where a device executes something, per
	 * time, as a part of those of the fullest kernel. 0: not known. With too few samples, an upper limit.
	 */
	double use;
	bool is_use_limit;
	uint64_t classes[STALL_CLASS_COUNT];
};

/* A stall of one line, or of one kernel without lines. */
struct summary_cause {
	uint32_t function;                      /* position of its kernel */
	uint32_t stall_class;                   /* enum iaprof_stall_class */
	const struct iaprof_frame *reason;      /* its name */
	const struct iaprof_frame *instruction; /* one of the line; its file and line are the cause's */
	const struct iaprof_frame *producer;    /* what most of it waits for; NULL not known */
	uint64_t value;
};

struct summary_part {
	const char *name; /* as long as the profile */
	uint64_t value;
};
/* A process of a parallel program, by the name that has its rank. */
struct summary_rank {
	const char *name; /* "python3 (rank 1)", as long as the profile */
	uint64_t value;
	uint64_t collective; /* of it, in kernels that exchange data with other ranks and wait for them */
};

/* Returns the part of its time that a rank spends in collectives. */
static inline double summary_rank_share(const struct summary_rank *rank)
{
	return (double)rank->collective / (double)rank->value;
}

/* Copies of one kind, beside the time of a device. */
struct summary_copy {
	const char *name; /* of the kernel that stands for them: "[copy host to device]"; as long as the profile */
	uint64_t time, bytes;
	const struct iaprof_frame *launch; /* the frame of the program that has most of their time; NULL not known */
	uint64_t launch_time;
};
/* What kernels without a class are called beside classes. */
#define SUMMARY_OTHER_CLASS "other"
/* Limit on parts with names of their own, on ranks and kinds of copies. */
#define SUMMARY_PARTS_MAX 64u
typedef ARRAY(struct summary_part) summary_parts;

struct profile_summary {
	const struct iaprof_profile *profile;
	uint32_t value_type;
	bool is_device;               /* measured on a device */
	struct program_answer answer; /* unless it is */
	uint64_t value;               /* of all stacks */
	uint64_t stalled;             /* not issuing */
	uint64_t unsampled;           /* device time of kernels without a sample: why it was spent is not known */
	uint64_t idle; /* of device time: how long those devices executed nothing; 0 also if that is not known */
	summary_parts idle_reasons;   /* what launching threads did while devices were idle, such as "[disk]" */
	summary_parts kernel_classes; /* the last one is "other"; both: the largest first, empty if none is known */
	/*
	 * Of device time; empty unless there are several. The largest share in collectives first: the last one is what
	 * the others wait for, if all do as much else.
	 */
	ARRAY(struct summary_rank) ranks;
	ARRAY(struct summary_copy) copies; /* the longest first, at most SUMMARY_PARTS_MAX */
	uint64_t matched;    /* in a kernel that is known; of the CPU: the innermost function has a name */
	uint64_t with_lines; /* at a known source line */
	ARRAY(struct summary_function) functions; /* largest first */
	const struct summary_function *fullest;   /* the kernel with which others are compared; NULL: none */
	ARRAY(struct summary_cause) causes;       /* largest first, at most SUMMARY_CAUSES_MAX; without Issuing */
};

/* Makes the summary of one value type, which the caller frees in any case. Returns 0 or -ENOMEM. */
int profile_summary_make(struct profile_summary *summary, const struct iaprof_profile *profile, uint32_t value_type);
void profile_summary_free(struct profile_summary *summary);
/* Returns whether a kernel has much of the time, but uses little of the device. */
bool profile_summary_is_narrow(const struct profile_summary *summary, const struct summary_function *function);

/* Appends the summary as lines of text. */
void profile_summary_append_text(struct text *text, const struct profile_summary *summary);
