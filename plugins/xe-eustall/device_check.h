/* SPDX-License-Identifier: Apache-2.0 */
/* What --check tells of EU stalls: the Linux kernel, its driver, the GPUs and the rights to sample them. */
#ifndef IAPROF_XE_EUSTALL_DEVICE_CHECK_H
#define IAPROF_XE_EUSTALL_DEVICE_CHECK_H

#include <iaprof/host.h>

/* For check(). wanted: the only GPU that is asked for, as devices_open() takes it; NULL any. */
void devices_check(const struct iaprof_host *host, const char *wanted);

#endif
