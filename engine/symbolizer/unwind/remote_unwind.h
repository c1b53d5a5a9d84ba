/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind table of an ELF file, as made by a child of the worker. Owned by one thread; not locked. */
#pragma once

#include "symbolizer/budget.h"
#include "symbolizer/elf_file.h"
#include "symbolizer/worker_pool.h"
#include "symbolizer/unwind/unwind_table.h"

struct remote_unwind {
	elf_segment_array segments; /* set even if the table is empty */
	struct unwind_table table;  /* without rows if the file has no unwind information */
};

/* A file that is being read. The caller sets the first four members, and must not move it until it is finished. */
struct remote_unwind_read {
	struct worker_pool *pool;
	struct budget *budget;
	struct file_identity file;
	const char *path; /* for messages, valid for the run */
	struct worker_child child;
	struct deadline deadline;
};

/*
 * Has a child read the table of an open file, which the caller keeps. Each function returns 0, or a negative errno
 * after recording the refusal; then nothing needs to be finished or freed. remote_unwind_finish() waits for the child,
 * whose socket is readable when it has an answer.
 */
int remote_unwind_begin(struct remote_unwind_read *read, int descriptor);
int remote_unwind_finish(struct remote_unwind_read *read, struct remote_unwind *unwind);
/* Calls both. */
int remote_unwind_load(struct remote_unwind *unwind, struct worker_pool *pool, struct budget *budget, int descriptor,
		       const struct file_identity *file, const char *path);
void remote_unwind_free(struct remote_unwind *unwind);

/* Limit on segments of a file; programs have four. */
#define UNWIND_SEGMENTS_MAX 4096u
/* Returns whether all positions are within bounds, and the rows of each page are sorted by offset. */
bool unwind_table_is_valid(const struct unwind_table *table);
