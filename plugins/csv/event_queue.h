/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on their way to rows. Names of a launch's or call's stack, and what the compiler says of a kernel, are found
 * after it was sent: its row waits for them, for a bounded time; all others are written at once.
 */
#ifndef IAPROF_PLUGINS_CSV_EVENT_QUEUE_H
#define IAPROF_PLUGINS_CSV_EVENT_QUEUE_H

#include "event_row.h"

struct waiting_event {
	struct waiting_event *next;
	struct iaprof_record *record; /* a copy */
	uint32_t stack;               /* whose names its row shows; 0 none */
	uint32_t code_object, name;   /* of the function that it shows what the compiler says of; 0 none */
};

/* Initialise with {0}. */
struct event_queue {
	struct waiting_event *first, **last;
	uint32_t count;
};

/* Takes event->record, and keeps what it defines in definitions. 0, or a negative errno after host->fail(). */
int event_queue_take(struct event_queue *queue, struct event *event, struct definitions *definitions);
/* Writes what still waits. */
int event_queue_finish(struct event_queue *queue, struct event *event);
void event_queue_free(struct event_queue *queue);

#endif
