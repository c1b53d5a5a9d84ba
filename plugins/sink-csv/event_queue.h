/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue of events before they are written as rows. The frames of a launch's or call's stack, and the compiler's
 * attributes of a kernel, arrive after the record: its row waits for them for a bounded time. All other rows are
 * written immediately.
 */
#pragma once

#include "event_row.h"

struct waiting_event {
	struct waiting_event *next;
	struct iaprof_record *record; /* a copy */
	uint32_t stack;               /* stack whose frames the row shows; 0 if none */
	uint32_t code_object, name;   /* function whose attributes the row shows; 0 if none */
};

/* Initialise with {0}. */
struct event_queue {
	struct waiting_event *first, **last;
	uint32_t count;
};

/* Processes event->record and its definitions. Returns 0, or a negative errno after host->fail(). */
int event_queue_take(struct event_queue *queue, struct event *event, struct definitions *definitions);
/* Writes all waiting rows. */
int event_queue_finish(struct event_queue *queue, struct event *event);
void event_queue_free(struct event_queue *queue);
