/* SPDX-License-Identifier: Apache-2.0 */
/* live.h in a build without BPF: traces can be read, and nothing can be watched. */
#include <errno.h>
#include <stddef.h>
#include "live.h"

#define WITHOUT_BPF "this iaprof was built without BPF (-Dbpf=disabled)"

int live_probe(const struct iaprof_host *host, const struct live_options *options)
{
	(void)options;
	return host->fail(host, EOPNOTSUPP, WITHOUT_BPF ": name a trace of bpftrace, -s ivpu:input=FILE");
}

int live_prepare(struct live **live, const struct iaprof_host *host, const struct live_options *options)
{
	*live = NULL;
	return live_probe(host, options);
}

int live_start(struct live *live)
{
	(void)live;
	return -EOPNOTSUPP;
}

int live_turn(struct live *live)
{
	(void)live;
	return 0;
}

int live_poll(struct live *live)
{
	(void)live;
	return 0;
}

void live_file_mapped(struct live *live, const struct iaprof_mapped_file *file)
{
	(void)live;
	(void)file;
}

void live_wait(struct live *live, uint64_t nanoseconds)
{
	(void)live;
	(void)nanoseconds;
}

int live_stop(struct live *live)
{
	(void)live;
	return 0;
}

int live_finish(struct live *live)
{
	(void)live;
	return 0;
}

void live_free(struct live *live)
{
	(void)live;
}

void live_check(const struct iaprof_host *host, const char *functions)
{
	(void)functions;
	host->check_item(host, IAPROF_CHECK_MISSING, "BPF", WITHOUT_BPF);
}
