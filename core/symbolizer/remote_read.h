/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking what a child of the worker sends: nothing in it is believed. */
#ifndef IAPROF_CORE_SYMBOLIZER_REMOTE_READ_H
#define IAPROF_CORE_SYMBOLIZER_REMOTE_READ_H

#include <stdbool.h>
#include "base/deadline.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/range_table.h"
#include "symbolizer/symbol_table.h"
#include "symbolizer/worker/worker_message.h"

/* Where from and until when. */
struct remote_reader {
	int socket;
	struct deadline deadline;
};

/* Reads so many bytes and forgets them. Returns as channel_read(). */
int remote_read_over(const struct remote_reader *reader, uint64_t size);

/* Makes room for a table that is read next. False when out of memory. */
bool remote_reserve_ranges(struct range_table *table, uint32_t count);
/* Checks a table that was read and links it. Returns 0 or -EBADMSG. */
int remote_check_ranges(struct range_table *table, uint32_t value_limit);

/* Reads the contents of a unit. Returns 0, -EBADMSG for contents that cannot be, -ENOMEM, or as channel_read(). */
int remote_read_unit(const struct remote_reader *reader, const struct worker_unit_lines *head, struct debug_unit *unit);

#endif
