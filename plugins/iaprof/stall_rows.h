/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU stalls of a profile as rows of the stream: one for each instruction of each kernel with each CPU stack that
 * launched it, with a count for each reason.
 */
#ifndef IAPROF_PLUGINS_IAPROF_STALL_ROWS_H
#define IAPROF_PLUGINS_IAPROF_STALL_ROWS_H

#include <iaprof/profile.h>

#include "common/stall_columns.h"
#include "stream_strings.h"

struct stall_row {
	/* of the kernel */
	uint64_t address;                           /* 0 not known */
	uint32_t program, pid, stack, file, symbol; /* ids of strings, but for the pid */
	/* of the instruction */
	uint32_t instruction; /* id of a string */
	uint64_t offset;
	uint64_t counts[STALL_COLUMN_COUNT];
};

/* What has no place in the stream. */
struct stall_left_out {
	uint64_t values;  /* of other types, such as CPU samples; what is lost has lines of its own */
	uint64_t reasons; /* stalls whose reason has no column: they are in that of other ones */
	const char *type; /* the name of one of the former, and of one of the latter; NULL none */
	const char *reason;
};

struct stall_rows {
	struct stall_row *rows;
	size_t count;
};

/* Makes the rows, by kernel, and in one by offset; free them in any case. Adds to left_out. 0 or -ENOMEM. */
int stall_rows_make(struct stall_rows *rows, const struct iaprof_profile *profile, struct stream_strings *strings,
		    struct stall_left_out *left_out);
void stall_rows_free(struct stall_rows *rows);

/* Whether two rows are of one kernel, launched by one stack. */
bool stall_rows_same_kernel(const struct stall_row *left, const struct stall_row *right);

#endif
