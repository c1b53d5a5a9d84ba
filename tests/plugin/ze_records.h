/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and launches that a source sent, added up. */
#pragma once

#include "test_host.h"
#include "ze_fire.h"

const struct iaprof_record_launch *ze_launch_next(struct test_host *host, const struct iaprof_record_launch *launch);

#define FOR_EACH_ZE_LAUNCH(launch, host)                                                                               \
	for (const struct iaprof_record_launch *launch = NULL; (launch = ze_launch_next(host, launch));)

/* Fails the test when there is none. */
const struct iaprof_record_kernel *ze_kernel(struct test_host *host, uint32_t id);
/*
 * How often fire launched a kernel of this name (NULL: any) from a site (0: any) that its stack has at depth. Every
 * launch is checked, too.
 */
uint64_t ze_launches(struct test_host *host, const struct ze_fire *fire, const char *name, char site, uint32_t depth);
/* KERNEL records. */
uint64_t ze_kernels(struct test_host *host);
/* The last value of a counter. */
uint64_t ze_counter(struct test_host *host, const char *name);
