/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may be behind the samples of an address in an interval, and in what proportion: the processes that had code
 * there, by who kept the device busy and who launched the kernel. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_SUSPECTS_H
#define IAPROF_CORE_CORRELATOR_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "correlator/activity.h"
#include "correlator/instruction_bases.h"
#include "correlator/kernels.h"
#include "correlator/places.h"
#include "profile/device_code.h"

/* More processes than this with code at one address at one time: the rest is not looked at. */
#define SUSPECTS_MAX 64
/* Kernels that are looked at for one of them: several may call the function that it is in. */
#define SUSPECT_KERNELS_MAX 64

/* Code of a process at the address. */
struct suspect {
	uint32_t pid;
	uint32_t place;
	uint64_t address; /* plain, in the process */
	double launches;  /* what suspects_shares() gives of its kernels, summed */
	double weight;    /* > 0: its part of the samples, in any unit */
	bool launched;    /* one of its kernels was launched in the interval */
	bool shared;      /* a function that several kernels call: which of them ran is not known */
	size_t kernel_count;
	uint32_t kernels[SUSPECT_KERNELS_MAX];
};

/* What suspects are found with. Initialise with {0} and the first members. */
struct suspects {
	struct device_code *code;
	struct instruction_bases *bases;
	struct kernels *kernels;
	struct places *places;
	struct activity *activity;

	struct suspect items[SUSPECTS_MAX];
	size_t count;
	bool uncertain; /* others may be behind it as well, who are not known, or against whom little speaks */

	/* Who was busy in the interval of the newest sample: samples come in groups that share it. */
	uint16_t busy_source;
	uint32_t busy_device;
	uint64_t busy_begin, busy_end;
	bool busy_valid;
	struct busy_processes busy;

	/* The kernels that may have called a function, for the newest sample of one. */
	uint32_t callers_pid;
	uint64_t callers_code, callers_begin, callers_end;
	size_t caller_count;
	uint32_t callers[SUSPECT_KERNELS_MAX];
};

/* Records were taken that answers were computed from. */
static inline void suspects_refresh(struct suspects *suspects)
{
	suspects->busy_valid = false;
	suspects->callers_end = 0;
}

/*
 * Finds those who may be behind a sample; their count is in count, and each has a weight. 0: no code is known at the
 * address, or others than those that have code there kept the device busy.
 */
void suspects_find(struct suspects *suspects, const struct iaprof_record_stall_sample *sample);

/*
 * Who launched one of a suspect's kernels (kernel: its position there), as kernels_shares(); nobody where others of
 * them were launched in the interval, and this one was not.
 */
size_t suspects_shares(struct suspects *suspects, const struct iaprof_record_stall_sample *sample,
		       const struct suspect *suspect, size_t kernel, const struct kernel_share **shares);

/* The only process that kept the device busy in the sample's interval; NULL: several or none, or nobody says. */
const struct busy_process *suspects_only_busy(struct suspects *suspects,
					      const struct iaprof_record_stall_sample *sample);

#endif
