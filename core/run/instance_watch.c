/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the loop for sources: descriptors, timers, mapped files and unwind tables. See instance_watch.h. */
#include "run/instance_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* A file descriptor or timer of the instance in the loop. */
struct watch {
	struct instance *instance;
	struct loop_watch *loop_watch;
	int descriptor;
	/* One of the two is not NULL. */
	iaprof_on_fd *on_fd;
	iaprof_on_timer *on_timer;
};

/* A callback's failure ends its instance. */
static void callback_returned(struct watch *watch, int result)
{
	struct instance *instance = watch->instance;
	if (!result)
		return;
	instance_fail(instance, result, watch->on_fd ? "descriptor callback" : "timer callback", NULL);
	if (watch->loop_watch) /* the callback may have ended the watch before failing */
		loop_pause(watch->loop_watch);
	instance_end_early(instance);
}

static void descriptor_ready(void *context, uint32_t ready)
{
	struct watch *watch = context;
	if (atomic_load(&watch->instance->finished)) {
		loop_pause(watch->loop_watch);
		return;
	}
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(watch->instance, "descriptor");
	struct instance *instance = watch->instance;
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	callback_returned(watch, watch->on_fd(&instance->host, instance->memory, watch->descriptor, ready));
	instance->callback_cost += clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void timer_expired(void *context, uint64_t expirations)
{
	struct watch *watch = context;
	if (atomic_load(&watch->instance->finished)) {
		loop_pause(watch->loop_watch);
		return;
	}
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(watch->instance, "timer");
	struct instance *instance = watch->instance;
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	callback_returned(watch, watch->on_timer(&instance->host, instance->memory, expirations));
	instance->callback_cost += clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* Returns a watch, reusing one that has ended, so that watching many descriptors in turn does not use more memory. */
static struct watch *new_watch(struct instance *instance)
{
	for (size_t i = 0; i < instance->watches.count; i++)
		if (!instance->watches.items[i]->loop_watch) {
			*instance->watches.items[i] = (struct watch){ .instance = instance, .descriptor = -1 };
			return instance->watches.items[i];
		}
	struct watch *watch = calloc(1, sizeof *watch);
	if (!watch || !array_push(&instance->watches, watch)) {
		free(watch);
		return NULL;
	}
	watch->instance = instance;
	watch->descriptor = -1;
	return watch;
}

static int host_on_fd(const struct iaprof_host *host, int fd, uint32_t events, iaprof_on_fd *callback)
{
	struct watch *watch = callback ? new_watch(instance_of(host)) : NULL;
	if (!watch)
		return callback ? -ENOMEM : -EINVAL;
	watch->on_fd = callback;
	watch->descriptor = fd;
	return loop_watch_descriptor(watch->instance->services->loop, fd, events, descriptor_ready, watch,
				     &watch->loop_watch);
}

static int host_remove_fd(const struct iaprof_host *host, int fd)
{
	struct instance *instance = instance_of(host);
	for (size_t i = 0; i < instance->watches.count; i++) {
		struct watch *watch = instance->watches.items[i];
		if (watch->descriptor != fd || !watch->loop_watch)
			continue;
		loop_unwatch(instance->services->loop, STEAL_POINTER(watch->loop_watch));
		return 0;
	}
	return -ENOENT;
}

static int host_on_timer(const struct iaprof_host *host, uint64_t period, iaprof_on_timer *callback)
{
	bool is_valid = period && callback;
	struct watch *watch = is_valid ? new_watch(instance_of(host)) : NULL;
	if (!watch)
		return is_valid ? -ENOMEM : -EINVAL;
	watch->on_timer = callback;
	return loop_watch_timer(watch->instance->services->loop, period, timer_expired, watch, &watch->loop_watch);
}

/* A callback's failure ends its instance. */
void instance_file_is_mapped(void *context, const struct iaprof_mapped_file *file)
{
	struct instance *instance = context;
	if (!instance->prepared || atomic_load(&instance->stopping) || atomic_load(&instance->finished))
		return;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "mapped file");
	int result = instance->on_mapped_file(&instance->host, instance->memory, file);
	if (!result)
		return;
	instance_fail(instance, result, "mapped file callback", NULL);
	instance_end_early(instance);
}

static int host_on_mapped_file(const struct iaprof_host *host, iaprof_on_mapped_file *callback)
{
	struct instance *instance = instance_of(host);
	if (!(instance->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES) ||
	    !instance->services->watch_files || instance->on_mapped_file || !callback)
		return -EINVAL;
	instance->on_mapped_file = callback;
	return instance->services->watch_files(instance->services->context, instance);
}

static int host_on_unwind(const struct iaprof_host *host, iaprof_on_unwind *callback)
{
	struct instance *instance = instance_of(host);
	if (!(instance->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES) || instance->on_unwind || !callback)
		return -EINVAL;
	if (!instance->services->watch_unwind)
		return -ENOTSUP;
	instance->on_unwind = callback;
	return instance->services->watch_unwind(instance->services->context, instance);
}

static void host_unwind_process(const struct iaprof_host *host, __u32 pid, __u64 execution)
{
	struct instance *instance = instance_of(host);
	if (instance->on_unwind)
		instance->services->unwind_process(instance->services->context, pid, execution);
}

static const void *host_extension(const struct iaprof_host *host, const char *name)
{
	static const struct iaprof_unwind_extension unwind = { .size = sizeof unwind,
							       .on_unwind = host_on_unwind,
							       .unwind_process = host_unwind_process };
	(void)host;
	return name && !strcmp(name, IAPROF_UNWIND_EXTENSION) ? &unwind : NULL;
}

void instance_unwind(void *context, const struct iaprof_unwind_table *table,
		     const struct iaprof_unwind_process *process)
{
	struct instance *instance = context;
	if (!instance->prepared || atomic_load(&instance->finished))
		return;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "unwind");
	int result = instance->on_unwind(&instance->host, instance->memory, table, process);
	if (!result)
		return;
	instance_fail(instance, result, "unwind callback", NULL);
	instance_end_early(instance);
}

void instance_watch_host(struct iaprof_host *host)
{
	host->on_fd = host_on_fd;
	host->remove_fd = host_remove_fd;
	host->on_timer = host_on_timer;
	host->on_mapped_file = host_on_mapped_file;
	host->extension = host_extension;
}

void instance_watch_pause(struct instance *instance)
{
	for (size_t i = 0; i < instance->watches.count; i++)
		if (instance->watches.items[i]->loop_watch)
			loop_pause(instance->watches.items[i]->loop_watch);
}

void instance_watch_release(struct instance *instance)
{
	for (size_t i = 0; i < instance->watches.count; i++) {
		if (instance->watches.items[i]->loop_watch)
			loop_unwatch(instance->services->loop, instance->watches.items[i]->loop_watch);
		free(instance->watches.items[i]);
	}
	array_free(&instance->watches);
}
