/* SPDX-License-Identifier: Apache-2.0 */
/* The requirements of NPU tracing, for `iaprof --check`. */
#pragma once

#include <iaprof/host.h>

/* Reports each with host->check_item(), which must exist. functions: the plugin's option. */
void npu_check_all(const struct iaprof_host *host, const char *functions);
