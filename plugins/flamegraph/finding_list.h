/* SPDX-License-Identifier: Apache-2.0 */
/* What sources found: one for each kind and process of a source, the newest, with how often it was found. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_FINDING_LIST_H
#define IAPROF_PLUGINS_FLAMEGRAPH_FINDING_LIST_H

#include <stdint.h>
#include <iaprof/record.h>

#include "common/definitions.h"
#include "common/text.h"

/* As many as the summary of a run has. */
#define FINDINGS_MAX 256u

struct found {
	struct iaprof_record_finding record; /* the newest, with the worst severity */
	uint64_t count;
};

/* Initialise with {0}. */
struct finding_list {
	struct found items[FINDINGS_MAX];
	uint32_t count;
	uint64_t dropped; /* kinds and processes that were too many */
};

void finding_list_take(struct finding_list *findings, const struct iaprof_record_finding *record);

/* As JSON: {"dropped":0,"items":[...]}, the worst first. */
void finding_list_append(struct text *text, const struct finding_list *findings, const struct definitions *definitions);

#endif
