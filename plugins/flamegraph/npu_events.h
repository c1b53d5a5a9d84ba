/* SPDX-License-Identifier: Apache-2.0 */
/* What the page shows of devices that are given jobs, and of the calls that give them: taken from records. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_NPU_EVENTS_H
#define IAPROF_PLUGINS_FLAMEGRAPH_NPU_EVENTS_H

#include <stdbool.h>
#include <iaprof/record.h>

#include "call_sums.h"
#include "common/definitions.h"
#include "finding_list.h"
#include "gauges.h"
#include "process_names.h"
#include "timeline.h"
#include "value_histograms.h"

/* Initialise with {0} and its names. */
struct npu_events {
	const struct definitions *definitions; /* page_names.h; has each before the records that refer to it */
	struct process_names processes;
	struct timeline timeline;
	struct call_sums calls;
	struct value_histograms histograms;
	struct gauges gauges;
	struct finding_list findings; /* of all sources */
};

/* Takes a record; most types are none of its business. False: out of memory. */
bool npu_events_take(struct npu_events *events, const struct iaprof_record *record);

/* Whether there is anything but findings. */
bool npu_events_are_there(const struct npu_events *events);

void npu_events_free(struct npu_events *events);

#endif
