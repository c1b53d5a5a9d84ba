/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device activity as members of the JSON of a page's header (page/npu.js reads them):
 *
 *   ,"findings":{...}   of all sources; omitted if there are none
 *   ,"npu":{...}        omitted without jobs, calls, histograms and counters: the page then has no such view
 *
 * Times are ns since "begin", which is in ns from the start of the run, or 0 if it precedes it. Tracks have "jobs",
 * each [begin, queued, started, end, waiting, busy, id, context, tid, state, status], with -1 for unknown times; or
 * "calls", each [begin, end, count, busy, duration, tid, result, function]; or, if they are merged, "slots", each
 * [number since "slotBegin", count, busy, waiting, aborted].
 */
#pragma once

#include <iaprof/profile.h>

#include "text/text.h"

/* Appends the members. Sets text->failed if out of memory. */
void page_npu_append(struct text *text, const struct iaprof_profile *profile);
