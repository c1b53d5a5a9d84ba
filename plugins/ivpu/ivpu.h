/* SPDX-License-Identifier: Apache-2.0 */
/* The instance of source ivpu. */
#ifndef IAPROF_PLUGINS_IVPU_IVPU_H
#define IAPROF_PLUGINS_IVPU_IVPU_H

#include <stdbool.h>
#include <stdint.h>
#include "findings.h"
#include "live.h"
#include "trace_input.h"

enum ivpu_mode { IVPU_MODE_COUNT, IVPU_MODE_EVENTS };

struct ivpu {
	/* Options. */
	const char *input; /* NULL none */
	const char *functions;
	bool hot, api, stacks;
	uint64_t mode;   /* enum ivpu_mode */
	uint64_t attach; /* enum links_way */
	uint64_t buffer;
	uint64_t drain_period;
	struct ivpu_limits limits;

	struct trace_input trace;
	struct live *live; /* NULL: a trace is read */
};

#endif
