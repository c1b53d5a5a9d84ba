/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that launch. */
#pragma once

#include "modules.h"

/* Runs all threads to their end; workers has room for options->threads and holds their counts afterwards. */
void workers_run(struct device *device, const struct options *options, const struct load *load, struct worker *workers);
