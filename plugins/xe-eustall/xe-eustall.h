/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of xe-eustall share: the instance. */
#ifndef IAPROF_PLUGINS_XE_EUSTALL_XE_EUSTALL_H
#define IAPROF_PLUGINS_XE_EUSTALL_XE_EUSTALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/plugin.h>
#include "device.h"
#include "sampler.h"
#include "watchdog.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)
#define SAMPLERS_MAX 64u

struct xe_eustall {
	/* options */
	const char *device;
	const char *rate;
	const char *budget;
	uint64_t drain;
	bool ze_usdt; /* the core's: whether the companion joins */
	bool kernel;  /* the core hands it on to the companion */

	struct sampling sampling;
	struct devices devices;
	struct sampler *samplers;
	size_t sampler_count;
	struct watchdog watchdog;
	size_t left_out;    /* GTs whose streams could not be opened */
	uint64_t begin;     /* of sampling */
	uint64_t drain_now; /* how long intervals are now */
	uint64_t turn;      /* when the last turn was */
};

/* turns.c: the thread of the source, which reads, adds up and hands on; see thread() in iaprof/plugin.h. */
int turns_run(const struct iaprof_host *host, void *instance, const volatile int *stopping);
/* An interval of all GTs ends. */
int turns_flush(struct xe_eustall *self);
/* GTs of devices that were pulled out give nothing any more. */
int turns_look_for_devices(struct xe_eustall *self);

#endif
