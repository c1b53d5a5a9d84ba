/* SPDX-License-Identifier: Apache-2.0 */
/* The requirements of EU stall sampling, for --check: Linux kernel, driver, GPUs and privileges. */
#pragma once

#include <iaprof/host.h>

/* For check(). wanted: as in devices_open(); NULL any. */
void devices_check(const struct iaprof_host *host, const char *wanted);
