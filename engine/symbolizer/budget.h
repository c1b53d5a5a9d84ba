/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and time limits for reading files, per owner and for all owners together, and the files that were rejected,
 * with reasons. Trusted owners have far higher limits, because their files can only harm themselves: root, the user who
 * runs iaprof, and the caller of sudo. Owned by one thread, except budget_end_by().
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/deadline.h"
#include "base/string_table.h"
#include "process/user_accounts.h"
#include "broker/file_identity.h"

/* Memory of one child of the worker. A tensor library with 500,000 symbols takes 60 MiB. */
#define BUDGET_DATA_TRUSTED ((uint64_t)1 << 30)
#define BUDGET_DATA_OTHER ((uint64_t)112 << 20)
#define BUDGET_DATA_QUICK ((uint64_t)48 << 20)
/* Memory for stored tables: of one untrusted owner, and of all untrusted owners. */
#define BUDGET_TABLES_OWNER ((uint64_t)80 << 20)
#define BUDGET_TABLES_OTHERS ((uint64_t)96 << 20)
#define BUDGET_TABLES_TRUSTED ((uint64_t)2 << 30)
/* Time per file, in ns. Reading the symbols of a browser takes 1 s, those of a typical program 10 ms. */
#define BUDGET_TIME_TRUSTED UINT64_C(10000000000)
#define BUDGET_TIME_OTHER UINT64_C(1000000000)
#define BUDGET_TIME_USUAL UINT64_C(50000000)
#define BUDGET_TIME_QUICK UINT64_C(150000000)
/*
 * Once this much time was lost on files of an owner, or four times as much for all others, each file has
 * BUDGET_TIME_QUICK.
 */
#define BUDGET_TIME_LOST_MAX UINT64_C(2000000000)

/* Limit on the number of refusals that are listed; further ones are only counted. */
#define BUDGET_REFUSALS_MAX 256

struct refusal {
	const char *path, *reason;
	uint64_t count;
};

/* Initialise with budget_init(). */
struct budget {
	struct user_accounts owners; /* amount: bytes of tables */
	uint64_t tables_trusted;
	uint64_t time_lost_others;
	size_t files_held;      /* descriptors that images keep */
	struct run_delay delay; /* run delay of the thread and the helpers that it waits for */
	struct deadline end;    /* deadline of the run, once it is ending */
	atomic_bool is_ending;
	_Atomic(const char *) reading; /* path of the file being read; valid for the run; NULL if none */
	struct string_table strings;
	ARRAY(struct refusal) refusals;
	uint64_t refused_more;
};

void budget_init(struct budget *budget);
void budget_free(struct budget *budget);

/* Sets the time at which all work must end (CLOCK_MONOTONIC ns). Any thread, once. */
void budget_end_by(struct budget *budget, uint64_t end);
/* Returns the deadline for reading files; DEADLINE_NONE until the run is ending. */
struct deadline budget_end(const struct budget *budget);

/* Returns whether only root, the current user and the caller of sudo can write a file. */
bool budget_trusts(const struct budget *budget, const struct file_identity *file);

/*
 * During a run, files of other users are first read with small limits on time and memory, so that the many small files
 * do not wait for a few large or hostile ones.
 */
enum budget_patience { BUDGET_FULL, BUDGET_QUICK };

/* Returns the memory limit of a child for this file. */
uint64_t budget_data_limit(const struct budget *budget, const struct file_identity *file,
			   enum budget_patience patience);
/* Returns the deadline for work on this file that starts now. */
struct deadline budget_deadline(struct budget *budget, const struct file_identity *file, enum budget_patience patience);
/* Returns whether the time for reading files is over. */
bool budget_is_over(const struct budget *budget);
/* Returns the reason why a file could not be opened: that the run ended first, or broker_reason(). */
const char *open_reason(struct budget *budget, int code);
/* Reserves memory for tables of this file; returns false if the limit is reached. */
bool budget_take(struct budget *budget, const struct file_identity *file, uint64_t bytes);
void budget_give_back(struct budget *budget, const struct file_identity *file, uint64_t bytes);

/* Mode that marks a file as never trusted. */
#define BUDGET_NEVER_TRUSTED 0002u
void budget_charge(struct budget *budget, const struct file_identity *file, uint64_t time);
/* Charges the time spent on a file beyond that of a typical file; since: made when the work began. */
void budget_charge_excess(struct budget *budget, const struct file_identity *file, const struct deadline *since);
/* Forgets the time that was lost so far, in runs without end. */
void budget_begin_period(struct budget *budget);
/* Returns whether the owner has used up its time, so that no file of that owner is waited for. */
bool budget_is_spent(struct budget *budget, const struct file_identity *file);
/* Records that a file was rejected, with the reason and the time spent; file NULL: it could not be opened. */
void budget_refuse(struct budget *budget, const struct file_identity *file, const char *path, const char *reason,
		   uint64_t time);
