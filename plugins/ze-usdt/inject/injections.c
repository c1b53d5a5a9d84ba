/* SPDX-License-Identifier: Apache-2.0 */
/* See injections.h. */
#include <errno.h>
#include <stdlib.h>
#include "inject.h"
#include "injections.h"

#ifdef __x86_64__

int injections_start(struct injections *injections, const struct iaprof_host *host, const char *library)
{
	const struct iaprof_target *target = host->target(host);

	injections->items = calloc(target->pid_count, sizeof(struct injection *));
	if (!injections->items)
		return host->fail(host, ENOMEM, "out of memory");
	for (; injections->count < target->pid_count; injections->count++) {
		int result = injection_start(host, target->pids[injections->count], library,
					     &injections->items[injections->count]);
		if (result)
			return result;
	}
	return 0;
}

void injections_end(struct injections *injections)
{
	for (size_t i = 0; i < injections->count; i++)
		injection_stop(injections->items[i]);
	for (size_t i = 0; i < injections->count; i++)
		injection_end(injections->items[i]);
	free(injections->items);
	*injections = (struct injections){ 0 };
}

#else

int injections_start(struct injections *injections, const struct iaprof_host *host, const char *library)
{
	(void)injections;
	(void)library;
	return host->fail(host, ENOTSUP,
			  "the tracer can be loaded into running processes on x86-64 only (start the program under "
			  "iaprof, or with LD_PRELOAD)");
}

void injections_end(struct injections *injections)
{
	(void)injections;
}

#endif
