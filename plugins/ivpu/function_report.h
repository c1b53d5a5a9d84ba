/* SPDX-License-Identifier: Apache-2.0 */
/* Reports how the functions of the running driver differ from those that driver_functions.c knows. */
#pragma once

#include <iaprof/host.h>
#include "function_list.h"

/* Well-known functions that this driver lacks, or that cannot be traced. */
void function_report_missing(const struct iaprof_host *host, const struct function_list *list);
/* Functions that belong to no group: newer drivers have them. */
void function_report_unknown(const struct iaprof_host *host, const struct function_list *list);
