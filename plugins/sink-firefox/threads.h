/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the profile: one for each thread and value type, because a thread has one unit of weights. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "stacks/timed_values.h"
#include "tables.h"

struct thread {
	uint32_t value_type, pid; /* pid 0: no process */
	uint32_t number;          /* distinguishes those with the same pid, tid and type, but other names */
	uint32_t tid;             /* 0: not known, or several */
	const char *name;         /* NULL: not known */
	bool is_lost;             /* losses, which are below no process */
	bool is_main;             /* the first thread of its process */
	const char *program;      /* its last name */
	double share;             /* of the value type, 0 to 1 */
	double process_share;     /* the largest share of the process's threads */
	uint64_t value;
	size_t first, count; /* its items in threads.order */
};

struct threads {
	const struct iaprof_profile *profile;
	struct timed_values values;
	ARRAY(struct thread) items; /* hottest process first; its first value type, or that which is shown first */
	uint32_t *order;            /* positions in values, by thread and time */
	uint32_t shown_type;
};

/* Returns false when out of memory. Call threads_free() in either case. */
bool threads_make(struct threads *threads, const struct iaprof_profile *profile, uint64_t step);
void threads_free(struct threads *threads);

/* Appends the array of threads, and adds their stacks to the tables. */
void threads_append(const struct threads *threads, struct tables *tables, struct text *text);

/* Appends nanoseconds as exact milliseconds: "10.10101". */
void milliseconds_append(struct text *text, uint64_t nanoseconds);
