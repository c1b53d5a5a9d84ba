/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking what a child of the worker sends: nothing in it is believed. */
#ifndef IAPROF_CORE_SYMBOLIZER_REMOTE_READ_H
#define IAPROF_CORE_SYMBOLIZER_REMOTE_READ_H

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

/* They return 0, -EBADMSG for contents that cannot be, -ENOMEM, or what channel_read() returns. */
int remote_read_ranges(const struct remote_reader *reader, struct range_table *table, uint32_t count,
		       uint32_t value_limit);
int remote_read_text(const struct remote_reader *reader, char **text, uint32_t size);
int remote_read_unit(const struct remote_reader *reader, const struct worker_unit_lines *head, struct debug_unit *unit);

#endif
