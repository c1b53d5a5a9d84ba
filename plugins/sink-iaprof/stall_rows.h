/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU stalls of a profile as rows of the stream: one for each instruction of each kernel with each CPU stack that
 * launched it, with a count for each reason.
 */
#pragma once

#include <iaprof/profile.h>

#include "stacks/stall_columns.h"
#include "stream_strings.h"

struct stall_row {
	/* Members of the kernel. */
	uint64_t address;                           /* 0 if unknown */
	uint32_t program, pid, stack, file, symbol; /* string ids, except pid */
	/* Members of the instruction. */
	uint32_t instruction; /* string id */
	uint64_t offset;
	uint64_t counts[STALL_COLUMN_COUNT];
};

/* Values that the format cannot represent. */
struct stall_left_out {
	uint64_t values;  /* values of other types, such as CPU samples; losses have their own lines */
	uint64_t reasons; /* stalls whose reason has no column: they are counted in the column for other reasons */
	const char *type; /* name of one such type, and of one such reason; NULL if none */
	const char *reason;
};

struct stall_rows {
	struct stall_row *rows;
	size_t count;
};

/*
 * Creates the rows, sorted by kernel and offset, and adds to left_out; the caller frees them in any case. Returns 0 or
 * -ENOMEM.
 */
int stall_rows_make(struct stall_rows *rows, const struct iaprof_profile *profile, struct stream_strings *strings,
		    struct stall_left_out *left_out);
void stall_rows_free(struct stall_rows *rows);

/* Returns whether two rows have the same kernel and launch stack. */
bool stall_rows_same_kernel(const struct stall_row *left, const struct stall_row *right);
