/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of the ring over time: sums of its segments, each of which is read once, as JSON for the overview page.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/ring_folder.h"
#include "segment_sums.h"
#include "text/text.h"

/* Newest segments that are shown: two weeks of minutes. */
#define OVERVIEW_SEGMENTS_MAX 20160u
/* Segments that are read for a request; the page asks again while there are more. */
#define OVERVIEW_READ_MAX 64u
/* Time slots of an answer. */
#define OVERVIEW_SLOTS_MAX 1000u

struct overview_segment {
	struct ring_segment file;
	struct segment_sums sums;
	bool is_read, is_damaged;
};

/* Any thread. */
struct overview {
	const char *folder;
	pthread_mutex_t lock; /* of what follows */
	ARRAY(struct overview_segment) segments;
	size_t omitted; /* older segments that are not shown */
	struct segment_names names;
};

struct overview_query {
	uint64_t from, to; /* CLOCK_REALTIME ns */
	uint32_t slots;    /* 1 to OVERVIEW_SLOTS_MAX */
	uint32_t metric;
	uint32_t group; /* enum segment_group */
};

void overview_init(struct overview *overview, const char *folder);
void overview_free(struct overview *overview);

/*
 * Appends the answer: the times of the ring, its metrics, and the sums of the metric in each time slot by program or
 * device, the largest first. Returns 0 or a negative errno: the folder cannot be read.
 */
int overview_append(struct overview *overview, const struct overview_query *query, struct text *text);
