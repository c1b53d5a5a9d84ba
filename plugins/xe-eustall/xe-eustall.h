/* SPDX-License-Identifier: Apache-2.0 */
/* The instance, shared by the files of xe-eustall. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/plugin.h>
#include "device.h"
#include "sampler.h"
#include "device_watchdog.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)
#define SAMPLERS_MAX 64u

struct xe_eustall {
	/* options */
	const char *device;
	const char *rate;
	const char *budget;
	uint64_t drain;
	bool jobs;
	bool ze_usdt; /* read by the core: run the companion */
	bool kernel;  /* passed to the companion by the core */

	struct sampling sampling;
	struct devices devices;
	struct sampler *samplers;
	size_t sampler_count;
	struct device_watchdog watchdog;
	size_t left_out;    /* GTs that could not be sampled */
	uint64_t begin;     /* start of sampling */
	uint64_t drain_now; /* current interval */
	uint64_t turn;      /* time of the last turn */
};

/* The source's thread (sampling_thread.c), thread() of iaprof/plugin.h. */
int sampling_thread_run(const struct iaprof_host *host, void *instance, const volatile int *stopping);
/* Ends an interval of all GTs. */
int sampling_thread_flush(struct xe_eustall *self);
/* Stops sampling GTs of removed devices. */
int sampling_thread_check_devices(struct xe_eustall *self);
