/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sources found that the user should know: one for each kind and process of a source, the newest, with how often
 * it was found. Texts are interned, and live as long as the run. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_FINDINGS_H
#define IAPROF_CORE_PROFILE_FINDINGS_H

#include <stdint.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "bus/intern.h"

struct finding {
	uint16_t source;
	uint32_t pid;      /* 0 none */
	uint32_t severity; /* enum iaprof_finding_severity: the worst */
	const char *name, *text;
	uint64_t count;
};

/* Initialise with {0} and intern. */
struct findings {
	struct intern *intern;
	ARRAY(struct finding) items;
	uint64_t dropped; /* kinds and processes that were too many */
};

void findings_free(struct findings *findings);
void findings_take(struct findings *findings, const struct iaprof_record_finding *record);

#endif
