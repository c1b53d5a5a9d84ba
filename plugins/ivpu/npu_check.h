/* SPDX-License-Identifier: Apache-2.0 */
/* What watching the NPU needs and whether it is here, for `iaprof --check`. */
#ifndef IAPROF_PLUGINS_IVPU_NPU_CHECK_H
#define IAPROF_PLUGINS_IVPU_NPU_CHECK_H

#include <iaprof/host.h>

/* Tells each by host->check_item(), which the host has. functions: the plugin's option. */
void npu_check_all(const struct iaprof_host *host, const char *functions);

#endif
