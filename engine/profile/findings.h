/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of sources for the user: the latest for each kind, process and source, with the number of occurrences.
 * Strings are interned and valid for the whole run. Owned by the collector thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "bus/intern.h"

struct finding {
	uint16_t source;
	uint32_t pid;      /* 0 if none */
	uint32_t severity; /* enum iaprof_finding_severity: the highest */
	const char *name, *text;
	uint64_t count;
	double value, threshold; /* values of the latest finding */
};

/* Initialise with {0} and intern. */
struct findings {
	struct intern *intern;
	ARRAY(struct finding) items;
	uint64_t dropped; /* findings beyond the limit on kinds and processes */
};

void findings_free(struct findings *findings);
void findings_take(struct findings *findings, const struct iaprof_record_finding *record);
