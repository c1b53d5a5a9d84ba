/* SPDX-License-Identifier: Apache-2.0 */
/* Implements live.h in a build without BPF: only traces can be read. */
#include <errno.h>
#include <stddef.h>
#include "live.h"

#define WITHOUT_BPF "this iaprof was built without BPF (-Dbpf=disabled)"

int live_probe(const struct iaprof_host *host, const struct live_options *options)
{
	return host->fail(host, EOPNOTSUPP, WITHOUT_BPF ": read bpftrace output with -s ivpu:input=FILE");
}

int live_prepare(struct live **live, const struct iaprof_host *host, const struct live_options *options)
{
	*live = NULL;
	return live_probe(host, options);
}

int live_start(struct live *live)
{
	return -EOPNOTSUPP;
}

int live_run(struct live *live, uint64_t drain_period, const volatile int *stopping)
{
	return 0;
}

int live_watch_unwinding(struct live *live, iaprof_fd_callback *on_question, iaprof_unwind_callback *on_answer)
{
	return 0;
}

void live_ask_unwinding(struct live *live)
{
}

int live_take_unwinding(struct live *live, const struct iaprof_unwind_table *table,
			const struct iaprof_unwind_process *process)
{
	return 0;
}

void live_file_mapped(struct live *live, const struct iaprof_mapped_file *file)
{
}

int live_stop(struct live *live)
{
	return 0;
}

int live_finish(struct live *live)
{
	return 0;
}

void live_free(struct live *live)
{
}

void live_check(const struct iaprof_host *host, const char *functions)
{
	host->check_item(host, IAPROF_CHECK_MISSING, "BPF", WITHOUT_BPF);
}
