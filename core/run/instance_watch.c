/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the loop for sources: descriptors, timers, mapped files and unwind tables. See instance_watch.h. */
#include "run/instance_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* A file descriptor or timer of the instance in the loop. */
struct watch {
	struct instance *instance;
	struct loop_watch *loop_watch;
	int descriptor;
	/* One of the four is not NULL. */
	iaprof_fd_callback *fd_callback;
	iaprof_timer_callback *timer_callback;
	iaprof_on_fd *on_fd;
	iaprof_on_timer *on_timer;
};

/* A callback's failure ends its instance. */
static void callback_returned(struct watch *watch, int result)
{
	struct instance *instance = watch->instance;
	if (!result)
		return;
	instance_fail(instance, result, watch->fd_callback || watch->on_fd ? "descriptor callback" : "timer callback",
		      NULL);
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
	callback_returned(watch, watch->on_fd
					 ? watch->on_fd(&instance->host, instance->memory, watch->descriptor, ready)
					 : watch->fd_callback(instance->memory, watch->descriptor, ready));
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
	callback_returned(watch, watch->on_timer ? watch->on_timer(&instance->host, instance->memory, expirations)
						 : watch->timer_callback(instance->memory, expirations));
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

static int watch_descriptor(struct watch *watch, int fd, uint32_t events)
{
	watch->descriptor = fd;
	return loop_watch_descriptor(watch->instance->services->loop, fd, events, descriptor_ready, watch,
				     &watch->loop_watch);
}

static int host_watch_fd(const struct iaprof_host *host, int fd, uint32_t events, iaprof_fd_callback *callback)
{
	struct watch *watch = callback ? new_watch(instance_of(host)) : NULL;
	if (!watch)
		return callback ? -ENOMEM : -EINVAL;
	watch->fd_callback = callback;
	return watch_descriptor(watch, fd, events);
}

static int host_on_fd(const struct iaprof_host *host, int fd, uint32_t events, iaprof_on_fd *callback)
{
	struct watch *watch = callback ? new_watch(instance_of(host)) : NULL;
	if (!watch)
		return callback ? -ENOMEM : -EINVAL;
	watch->on_fd = callback;
	return watch_descriptor(watch, fd, events);
}

static int host_unwatch_fd(const struct iaprof_host *host, int fd)
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

static int watch_timer(struct watch *watch, uint64_t period)
{
	return loop_watch_timer(watch->instance->services->loop, period, timer_expired, watch, &watch->loop_watch);
}

static int host_watch_timer(const struct iaprof_host *host, uint64_t period, iaprof_timer_callback *callback)
{
	bool is_valid = period && callback;
	struct watch *watch = is_valid ? new_watch(instance_of(host)) : NULL;
	if (!watch)
		return is_valid ? -ENOMEM : -EINVAL;
	watch->timer_callback = callback;
	return watch_timer(watch, period);
}

static int host_on_timer(const struct iaprof_host *host, uint64_t period, iaprof_on_timer *callback)
{
	bool is_valid = period && callback;
	struct watch *watch = is_valid ? new_watch(instance_of(host)) : NULL;
	if (!watch)
		return is_valid ? -ENOMEM : -EINVAL;
	watch->on_timer = callback;
	return watch_timer(watch, period);
}

/* A callback's failure ends its instance. */
void instance_file_is_mapped(void *context, const struct iaprof_mapped_file *file)
{
	struct instance *instance = context;
	if (!instance->prepared || atomic_load(&instance->stopping) || atomic_load(&instance->finished))
		return;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "mapped file");
	int result = instance->on_mapped_file ? instance->on_mapped_file(&instance->host, instance->memory, file)
					      : instance->mapped_file_callback(instance->memory, file);
	if (!result)
		return;
	instance_fail(instance, result, "mapped file callback", NULL);
	instance_end_early(instance);
}

static int watch_mapped_files(struct instance *instance, iaprof_mapped_file_callback *callback,
			      iaprof_on_mapped_file *on_mapped_file)
{
	if (!(instance->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES) ||
	    !instance->services->watch_files || instance->mapped_file_callback || instance->on_mapped_file ||
	    (!callback && !on_mapped_file))
		return -EINVAL;
	instance->mapped_file_callback = callback;
	instance->on_mapped_file = on_mapped_file;
	return instance->services->watch_files(instance->services->context, instance);
}

static int host_watch_mapped_files(const struct iaprof_host *host, iaprof_mapped_file_callback *callback)
{
	return watch_mapped_files(instance_of(host), callback, NULL);
}

static int host_on_mapped_file(const struct iaprof_host *host, iaprof_on_mapped_file *callback)
{
	return watch_mapped_files(instance_of(host), NULL, callback);
}

static int watch_unwind(struct instance *instance, iaprof_unwind_callback *callback, iaprof_on_unwind *on_unwind)
{
	if (!(instance->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES) || instance->unwind_callback ||
	    instance->on_unwind || (!callback && !on_unwind))
		return -EINVAL;
	if (!instance->services->watch_unwind)
		return -ENOTSUP;
	instance->unwind_callback = callback;
	instance->on_unwind = on_unwind;
	return instance->services->watch_unwind(instance->services->context, instance);
}

static int host_watch_unwind(const struct iaprof_host *host, iaprof_unwind_callback *callback)
{
	return watch_unwind(instance_of(host), callback, NULL);
}

static int host_on_unwind(const struct iaprof_host *host, iaprof_on_unwind *callback)
{
	return watch_unwind(instance_of(host), NULL, callback);
}

static void host_unwind_process(const struct iaprof_host *host, uint32_t pid, uint64_t execution)
{
	struct instance *instance = instance_of(host);
	if (instance->unwind_callback || instance->on_unwind)
		instance->services->unwind_process(instance->services->context, pid, execution);
}

void instance_unwind(struct instance *instance, const struct iaprof_unwind_table *table,
		     const struct iaprof_unwind_process *process)
{
	if (!instance->prepared || atomic_load(&instance->finished))
		return;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "unwind");
	int result = instance->on_unwind ? instance->on_unwind(&instance->host, instance->memory, table, process)
					 : instance->unwind_callback(instance->memory, table, process);
	if (!result)
		return;
	instance_fail(instance, result, "unwind callback", NULL);
	instance_end_early(instance);
}

void instance_watch_host(struct iaprof_host *host)
{
	host->watch_fd = host_watch_fd;
	host->unwatch_fd = host_unwatch_fd;
	host->watch_timer = host_watch_timer;
	host->watch_mapped_files = host_watch_mapped_files;
	host->watch_unwind = host_watch_unwind;
	host->unwind_process = host_unwind_process;
	host->on_fd = host_on_fd;
	host->on_timer = host_on_timer;
	host->on_mapped_file = host_on_mapped_file;
	host->on_unwind = host_on_unwind;
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
