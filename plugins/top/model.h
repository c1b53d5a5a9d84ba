/* SPDX-License-Identifier: Apache-2.0 */
/* What the profiles of a run add up to: the rows of each table, rates, losses, and what iaprof itself costs. */
#ifndef IAPROF_PLUGINS_TOP_MODEL_H
#define IAPROF_PLUGINS_TOP_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "names.h"
#include "row_table.h"

/* Numbers of their keys: see model_add.c. */
enum model_table {
	TABLE_KERNELS,
	TABLE_INSTRUCTIONS,
	TABLE_REASONS,
	TABLE_FUNCTIONS,
	TABLE_STACKS,
	TABLE_CALLS,
	TABLE_COUNT
};

#define MODEL_TYPES_MAX 16u
#define MODEL_LOSSES_MAX 32u

/* What a value type has come to: all of it, and that of samples that were not lost. */
struct model_type {
	const char *name, *unit;
	uint64_t run, last;             /* values, lost ones too */
	uint64_t run_count, last_count; /* samples */
	uint64_t lost, last_lost;       /* the part of run and last that is lost */
};

struct model_loss {
	char source[64], reason[128]; /* the last one may stand for all that found no room */
	uint64_t run, last;
	uint32_t unknown; /* how often the number was not known */
	uint32_t interval;
};

struct model {
	uint32_t intervals;              /* that were added */
	uint64_t begin, last_begin, end; /* CLOCK_MONOTONIC ns: of the run, of the last interval, of both */
	uint64_t end_realtime;
	struct names names;
	struct row_table tables[TABLE_COUNT];
	struct model_type types[MODEL_TYPES_MAX];
	uint32_t type_count;
	uint32_t types_left_out;                /* value types that found no room */
	bool has[TABLE_COUNT][MODEL_TYPES_MAX]; /* rows with values */
	struct model_loss losses[MODEL_LOSSES_MAX];
	uint32_t loss_count;
	uint64_t jobs_done, jobs_aborted, last_jobs; /* jobs of devices */
	bool out_of_memory;                          /* some of the rows are missing */
	uint64_t cost_begin, cost, wall_begin, wall; /* CPU time of iaprof, and the time that it took it in; ns */
	uint64_t last_cost, last_wall;
	uint32_t *path; /* for model_add() */
	size_t path_capacity;
	uint32_t *seen; /* by name: the last value that it had a part in */
	size_t seen_count;
	uint32_t stamp;
};

/* Initialise with {0}. From when on iaprof's own cost counts. */
void model_begin(struct model *model, uint64_t now);
/* Adds the profile of an interval, or of a whole run. */
void model_add(struct model *model, const struct iaprof_profile *profile);
void model_measure(struct model *model, uint64_t now);
/* A copy to look at. Out of memory: *copy is empty and false is returned. */
bool model_copy(struct model *copy, const struct model *model);
void model_free(struct model *model);

#endif
