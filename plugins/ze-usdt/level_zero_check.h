/* SPDX-License-Identifier: Apache-2.0 */
/* What --check tells of Level Zero: on this machine, and in the programs that use it now. */
#ifndef IAPROF_ZE_USDT_LEVEL_ZERO_CHECK_H
#define IAPROF_ZE_USDT_LEVEL_ZERO_CHECK_H

#include <stdbool.h>
#include <iaprof/host.h>

/* For check(). wants_tracer: the user did not say tracer=no. */
void level_zero_check(const struct iaprof_host *host, bool wants_tracer, bool wants_injection);

#endif
