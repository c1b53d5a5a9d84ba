/* SPDX-License-Identifier: Apache-2.0 */
/* See copied_text.h. */
#include "symbolizer/copied_text.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child/channel.h"
#include "symbolizer/worker/worker_message.h"

/* Sends both files to the child, and receives its answer. */
static int ask(const struct worker_child *child, const struct mapping *mapping, int file, int memory,
	       const struct deadline *deadline, int64_t *shift)
{
	struct worker_compare request = { .address = mapping->start,
					  .size = mapping->end - mapping->start,
					  .file_offset = mapping->file_offset };
	struct worker_compared answer;
	struct channel_answer expected = { .type = WORKER_COMPARED, .head = &answer, .head_size = sizeof answer };
	int code = channel_send_bytes(child->socket, WORKER_COMPARE_FILE, NULL, 0, file, deadline);
	if (!code)
		code = channel_ask(child->socket, WORKER_COMPARE, &request, sizeof request, memory, &expected,
				   deadline);
	if (!code && answer.code)
		code = channel_error(answer.code);
	*shift = code ? 0 : answer.shift;
	return code;
}

int copied_text_compare(const struct copied_text_helpers *helpers, const struct mapped_file_request *request,
			int64_t *shift)
{
	const struct process *process = request->process;
	struct mapped_file opened;
	struct worker_child child = WORKER_CHILD_NONE;
	*shift = 0;
	if (!request->live || process->end != UINT64_MAX)
		return -ESRCH;
	int code = mapped_file_open(&opened, helpers->broker, request);
	if (code)
		return code;
	CLEANUP_CLOSE int file = opened.descriptor;
	CLEANUP_CLOSE int memory = broker_open_memory(helpers->broker, process->pid, request->deadline);
	if (memory < 0)
		return memory;
	/* Neither the file nor the memory is trusted. */
	struct file_identity owner = { .owner = process->user, .mode = BUDGET_NEVER_TRUSTED };
	code = worker_child_start(helpers->pool, &child, budget_data_limit(helpers->budget, &owner, BUDGET_FULL));
	struct deadline deadline = budget_deadline(helpers->budget, &owner, BUDGET_FULL);
	deadline.helper = &child.process;
	if (!code)
		code = ask(&child, request->mapping, file, memory, &deadline, shift);
	worker_child_end(helpers->pool, &child);
	budget_charge_excess(helpers->budget, &owner, &deadline);
	return code;
}
