/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What files may cost a run: memory and time, for each owner of files and for all owners together, and which files were
 * refused for what reason. Whose files only harm themselves have far more: root, the user who runs iaprof, and the one
 * who called sudo. Belongs to one thread, but for budget_end_by().
 */
#ifndef IAPROF_CORE_SYMBOLIZER_BUDGET_H
#define IAPROF_CORE_SYMBOLIZER_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/deadline.h"
#include "base/string_table.h"
#include "base/user_accounts.h"
#include "broker/file_identity.h"

/* Memory of one child of the worker. A tensor library with 500,000 symbols takes 60 MiB. */
#define BUDGET_DATA_TRUSTED ((uint64_t)1 << 30)
#define BUDGET_DATA_OTHER ((uint64_t)112 << 20)
#define BUDGET_DATA_QUICK ((uint64_t)48 << 20)
/* Tables that are kept: of one owner who is not trusted, and of all of them. */
#define BUDGET_TABLES_OWNER ((uint64_t)80 << 20)
#define BUDGET_TABLES_OTHERS ((uint64_t)96 << 20)
#define BUDGET_TABLES_TRUSTED ((uint64_t)2 << 30)
/* Time of one file. Reading the symbols of a browser takes 1 s, those of a usual program 10 ms. */
#define BUDGET_TIME_TRUSTED UINT64_C(10000000000)
#define BUDGET_TIME_OTHER UINT64_C(1000000000)
#define BUDGET_TIME_USUAL UINT64_C(50000000)
#define BUDGET_TIME_QUICK UINT64_C(150000000)
/* After so much time lost on files of an owner, and four times that for all others, each has BUDGET_TIME_QUICK. */
#define BUDGET_TIME_LOST_MAX UINT64_C(2000000000)

/* Different refusals that are named; more are counted. */
#define BUDGET_REFUSALS_MAX 256

struct refusal {
	const char *path, *reason;
	uint64_t count;
};

/* Initialise with budget_init(). */
struct budget {
	struct user_accounts owners; /* amount: bytes of tables */
	uint64_t tables_others, tables_trusted;
	uint64_t time_lost_others;
	size_t files_held;      /* descriptors that images keep */
	struct run_delay delay; /* of the thread and of the helpers that it waits for */
	struct deadline end;    /* of the run, once it is ending */
	atomic_bool is_ending;
	_Atomic(const char *) reading; /* path of the file that is read now; lives as long as the run; NULL none */
	struct string_table strings;
	ARRAY(struct refusal) refusals;
	uint64_t refused_more;
};

void budget_init(struct budget *budget);
void budget_free(struct budget *budget);

/* Nothing takes longer than until this time (CLOCK_MONOTONIC ns). Any thread, once. */
void budget_end_by(struct budget *budget, uint64_t end);
/* When the run has no more time for files; DEADLINE_NONE while it goes on. */
struct deadline budget_end(const struct budget *budget);

/* Returns whether only root, the current user and the caller of sudo can write a file. */
bool budget_trusts(const struct budget *budget, const struct file_identity *file);

/*
 * While a run goes on, files of others are first tried with little time and memory: so that the many that need no more
 * do not wait for a few that do, of which any could be hostile.
 */
enum budget_patience { BUDGET_FULL, BUDGET_QUICK };

/* How much memory a child may have for this file. */
uint64_t budget_data_limit(const struct budget *budget, const struct file_identity *file,
			   enum budget_patience patience);
/* Until when work on this file that starts now has to be done. */
struct deadline budget_deadline(struct budget *budget, const struct file_identity *file, enum budget_patience patience);
/* Whether the run has no more time for files. */
bool budget_is_over(const struct budget *budget);
/* Why a file could not be opened, as broker_reason(), but for what only came too late. */
const char *open_reason(struct budget *budget, int code);
/* Takes room for tables of this file; false when there is none. */
bool budget_take(struct budget *budget, const struct file_identity *file, uint64_t bytes);
void budget_give_back(struct budget *budget, const struct file_identity *file, uint64_t bytes);

/* The mode of a file that nobody is to be trusted for. */
#define BUDGET_NEVER_TRUSTED 0002u
/* Charges time that work on a file took beyond what a usual one takes. */
void budget_charge(struct budget *budget, const struct file_identity *file, uint64_t time);
/* Whether the owner has lost so much time that nothing of his is waited for. */
bool budget_is_spent(struct budget *budget, const struct file_identity *file);
/* Notes that a file is not used, why, and the time that it took; file NULL: it could not be opened. */
void budget_refuse(struct budget *budget, const struct file_identity *file, const char *path, const char *reason,
		   uint64_t time);

#endif
