/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page shows of the NPU, as members of the JSON of its header (page/npu.js reads them):
 *
 *   ,"findings":{...}   of all sources; left out when there are none
 *   ,"npu":{...}        left out when there is nothing: then the page has no such view
 *
 * Times are ns since "begin", which is ns after the begin of the run, or 0 when it is before it. Tracks have "jobs",
 * each [begin, queued, started, end, waiting, busy, id, context, tid, state, status], with -1 for times that are not
 * known; or "calls", each [begin, end, count, busy, duration, tid, result, function]; or, when they are merged,
 * "slots", each [number since "slotBegin", count, busy, waiting, aborted].
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_NPU_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_NPU_H

#include <iaprof/profile.h>

#include "common/text.h"
#include "npu_events.h"

/* text->failed: out of memory. */
void page_npu_append(struct text *text, const struct npu_events *events, const struct iaprof_profile *profile);

#endif
