/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates the profiles of a run: rows of each table, rates, losses and iaprof's own cost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "meters.h"
#include "names.h"
#include "row_table.h"

/* Keys of their rows: see model_add.c. */
enum model_table {
	TABLE_KERNELS,
	TABLE_INSTRUCTIONS,
	TABLE_REASONS,
	TABLE_FUNCTIONS,
	TABLE_STACKS,
	TABLE_CALLS,
	TABLE_PROCESSES,
	TABLE_SUM_COUNT,
	/* Tables of struct model_item. */
	TABLE_COUNTERS = TABLE_SUM_COUNT,
	TABLE_FINDINGS,
	TABLE_COUNT
};

/* The first numbers of every key: what the columns before the name show. */
enum key_part {
	KEY_PROGRAM, /* ID of its name */
	KEY_PID,     /* 0: unknown */
	KEY_TID,     /* 0: unknown */
	KEY_MODULE,  /* ID of its name, which may be empty */
	KEY_REST     /* the numbers that depend on the table */
};

#define MODEL_TYPES_MAX 16u
#define MODEL_TITLE_SIZE 64u
#define MODEL_LOSSES_MAX 32u

/* Totals of a value type. */
struct model_type {
	char title[MODEL_TITLE_SIZE]; /* "GPU samples (EU-time)" */
	const char *unit;
	uint32_t role, device_kind;     /* enum iaprof_value_role, enum iaprof_device_kind */
	uint64_t run, last;             /* values, including lost ones */
	uint64_t run_count, last_count; /* samples */
	uint64_t lost, last_lost;       /* the part of run and last that is lost */
};

struct model_loss {
	char source[64], reason[128]; /* the last entry can be the sum of all remaining ones */
	uint64_t run, last;
	uint32_t unknown; /* number of losses of unknown size */
	uint32_t interval;
};

/* A counter or finding, with its latest value. */
struct model_item {
	enum model_table table;
	const char *source, *name;
	const char *text; /* unit of a counter, text of a finding */
	const char *device;
	double value;
	uint32_t severity, pid;
	uint64_t count;
};

struct model {
	uint32_t intervals;
	uint64_t begin, last_begin, end; /* CLOCK_MONOTONIC ns: of the run, of the last interval, of both */
	uint64_t end_realtime;
	struct names names;
	struct row_table tables[TABLE_SUM_COUNT];
	struct model_type types[MODEL_TYPES_MAX];
	uint32_t type_count;
	uint32_t types_left_out;                    /* value types beyond the limit */
	bool has[TABLE_SUM_COUNT][MODEL_TYPES_MAX]; /* rows with values */
	ARRAY(struct model_item) items;             /* in the order of tables, the most severe findings first */
	struct model_loss losses[MODEL_LOSSES_MAX];
	uint32_t loss_count;
	uint64_t jobs_done, jobs_aborted, last_jobs; /* jobs of devices */
	bool out_of_memory;                          /* some rows were dropped */
	uint32_t no_name;                            /* ID of the empty name */
	bool has_threads;                            /* a key has a thread other than the main one */
	bool has_modules[TABLE_SUM_COUNT];           /* some keys have a module */
	struct meters meters;
	uint64_t cost_begin, cost, wall_begin, wall; /* CPU time of iaprof and its wall time, ns */
	uint64_t last_cost, last_wall;
	ARRAY(uint32_t) path; /* for model_add() */
	ARRAY(uint32_t) seen; /* by name: stamp of the last value that was added to it */
	uint32_t stamp;
};

/* Starts measuring iaprof's own cost. Initialise the model with {0}. */
void model_begin(struct model *model, uint64_t now);
/* Adds the profile of an interval, or of a whole run. */
void model_add(struct model *model, const struct iaprof_profile *profile);
void model_measure(struct model *model, uint64_t now);
/* Copies the model, whose names the copy uses. When out of memory, returns false and an empty copy. */
bool model_copy(struct model *copy, const struct model *model);
void model_free(struct model *model);
