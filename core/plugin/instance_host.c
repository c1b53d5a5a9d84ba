/* SPDX-License-Identifier: Apache-2.0 */
/* The host as an instance sees it (iaprof/host.h): each member looks up its instance and asks the core. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "plugin/instance.h"
#include "plugin/instance_output.h"
#include "plugin/instance_run.h"

/* The instance sends nothing more: the run is told, which may end by it. */
static void end(struct instance *instance)
{
	atomic_store(&instance->finished, true);
	instance->services->ended(instance->services->context, instance);
}

/* A file descriptor or timer of the instance in the loop. */
struct watch {
	struct instance *instance;
	struct loop_watch *loop_watch;
	int descriptor;
	iaprof_fd_callback *fd_callback;
	iaprof_timer_callback *timer_callback;
};

static uint64_t host_clock(const struct iaprof_host *host)
{
	(void)host;
	return clock_monotonic();
}

IAPROF_PRINTF(3, 4) static void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	if (level > log_level())
		return;
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	log_message(level, "%s: %s", instance_of(host)->name, text);
}

IAPROF_PRINTF(3, 4) static int host_fail(const struct iaprof_host *host, int code, const char *format, ...)
{
	struct instance *instance = instance_of(host);
	va_list arguments;
	va_start(arguments, format);
	pthread_mutex_lock(&instance->lock);
	if (instance->cause.text[0])
		error_wrap_va(&instance->cause, format, arguments);
	else
		error_set_va(&instance->cause, code ? code : EIO, format, arguments);
	pthread_mutex_unlock(&instance->lock);
	va_end(arguments);
	return -abs(code ? code : EIO);
}

/*
 * Of a batch that found no room, what gives other records their meaning is taken all the same: its source sends it
 * once. The rest is counted. Returns 0 when nothing was lost.
 */
static int refuse(struct instance *instance, const struct iaprof_batch *batch, unsigned how, int reason)
{
	int result = 0;
	pthread_mutex_lock(&instance->lock);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		struct iaprof_batch one = { .records = record, .size = record->size, .count = 1 };
		if (!refused_may_be(record) && !bus_emit(instance->services->bus, instance->number, &one,
							 (how & BUS_KEEP_SOURCE) | BUS_RESERVE, NULL))
			continue;
		refused_add(&instance->refused, record);
		result = reason;
	}
	pthread_mutex_unlock(&instance->lock);
	return result;
}

static int host_emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	struct instance *instance = instance_of(host);
	uint32_t flags = instance->plugin->description.flags;
	bool waits = flags & (IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_REPLAYS) || instance->offline;
	unsigned how = (waits ? BUS_WAIT : 0) | (flags & IAPROF_PLUGIN_REPLAYS ? BUS_KEEP_SOURCE : 0);
	struct error error = { 0 };
	int result = bus_emit(instance->services->bus, instance->number, batch, how, &error);
	if (result == -EINVAL) {
		host_fail(host, result, "%s", error.text);
		instance_fail(instance, result, "emit", NULL);
		end(instance);
	} else if (result) {
		result = refuse(instance, batch, how, result);
	}
	return result;
}

static uint32_t host_intern_string(const struct iaprof_host *host, const char *text, size_t length)
{
	return text ? intern_string(instance_of(host)->services->intern, text, length) : 0;
}

static uint32_t host_intern_stack(const struct iaprof_host *host, uint32_t pid, const uint64_t *addresses, size_t count)
{
	return intern_stack(instance_of(host)->services->intern, pid, addresses, count);
}

static uint32_t intern_text_of(const struct iaprof_host *host, const char *text)
{
	return intern_text_id(instance_of(host)->services->intern, text);
}

/* Sends one record of the instance, whether there is room or not. */
static void send(const struct iaprof_host *host, struct iaprof_record *record, uint16_t type, size_t size)
{
	struct instance *instance = instance_of(host);
	record->type = type;
	record->size = (uint32_t)size;
	record->source = instance->number;
	record->time = clock_monotonic();
	bus_send(instance->services->bus, record);
}

static uint32_t host_declare_value_type(const struct iaprof_host *host, const char *name, const char *unit,
					uint64_t period)
{
	uint32_t id = intern_value_type(instance_of(host)->services->intern, name, unit);
	if (!id)
		return 0;
	struct iaprof_record_value_type record = {
		.id = id, .name = intern_text_of(host, name), .unit = intern_text_of(host, unit), .period = period
	};
	send(host, &record.header, IAPROF_RECORD_VALUE_TYPE, sizeof record);
	return id;
}

static void host_lost(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		      uint32_t value_type, uint64_t value)
{
	struct iaprof_record_lost record = { .begin = begin,
					     .count = count,
					     .value = value,
					     .value_type = value_type,
					     .reason = intern_text_of(host, reason) };
	send(host, &record.header, IAPROF_RECORD_LOST, sizeof record);
}

void instance_report_refused(struct instance *instance)
{
	pthread_mutex_lock(&instance->lock);
	struct refused refused = instance->refused;
	instance->refused = (struct refused){ 0 };
	pthread_mutex_unlock(&instance->lock);
	for (size_t i = 0; i < REFUSED_VALUE_TYPES_MAX && refused.samples[i].count; i++)
		host_lost(&instance->host, "samples: queue full", refused.begin, refused.samples[i].count,
			  refused.samples[i].value_type, refused.samples[i].value);
	if (refused.launches)
		host_lost(&instance->host, "launches: queue full", refused.begin, refused.launches, 0, 0);
	if (refused.records)
		host_lost(&instance->host, "records: queue full", refused.begin, refused.records, 0, 0);
}

IAPROF_PRINTF(3, 4) static void host_metadata(const struct iaprof_host *host, const char *key, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	struct iaprof_record_metadata record = { .key = intern_text_of(host, key),
						 .value = intern_text_of(host, text) };
	send(host, &record.header, IAPROF_RECORD_METADATA, sizeof record);
}

/* A callback's failure ends its instance. */
static void callback_returned(struct watch *watch, int result)
{
	struct instance *instance = watch->instance;
	if (!result)
		return;
	instance_fail(instance, result, watch->fd_callback ? "descriptor callback" : "timer callback", NULL);
	if (watch->loop_watch) /* the callback may have ended the watch before it failed */
		loop_pause(watch->loop_watch);
	end(instance);
}

static void descriptor_ready(void *context, uint32_t ready)
{
	struct watch *watch = context;
	if (atomic_load(&watch->instance->finished)) {
		loop_pause(watch->loop_watch);
		return;
	}
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(watch->instance, "descriptor");
	callback_returned(watch, watch->fd_callback(watch->instance->memory, watch->descriptor, ready));
}

static void timer_expired(void *context, uint64_t expirations)
{
	struct watch *watch = context;
	if (atomic_load(&watch->instance->finished)) {
		loop_pause(watch->loop_watch);
		return;
	}
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(watch->instance, "timer");
	callback_returned(watch, watch->timer_callback(watch->instance->memory, expirations));
}

/* A watch that has ended is used again: a source that watches one descriptor after the other does not grow. */
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

static int host_watch_fd(const struct iaprof_host *host, int fd, uint32_t events, iaprof_fd_callback *callback)
{
	struct watch *watch = new_watch(instance_of(host));
	if (!watch)
		return -ENOMEM;
	watch->descriptor = fd;
	watch->fd_callback = callback;
	return loop_watch_descriptor(watch->instance->services->loop, fd, events, descriptor_ready, watch,
				     &watch->loop_watch);
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

static int host_watch_timer(const struct iaprof_host *host, uint64_t period, iaprof_timer_callback *callback)
{
	struct watch *watch = new_watch(instance_of(host));
	if (!watch)
		return -ENOMEM;
	watch->timer_callback = callback;
	return loop_watch_timer(watch->instance->services->loop, period, timer_expired, watch, &watch->loop_watch);
}

static int host_command_environment(const struct iaprof_host *host, const char *name, const char *value, uint32_t how)
{
	struct instance_services *services = instance_of(host)->services;
	if (!services->target.command_pid || !services->command_environment)
		return -ENOENT;
	if (how > IAPROF_ENVIRONMENT_PREPEND_PATH)
		return -EINVAL;
	return services->command_environment(services->context, name, value, how == IAPROF_ENVIRONMENT_PREPEND_PATH);
}

/* A callback's failure ends its instance. */
static void file_is_mapped(void *context, const struct iaprof_mapped_file *file)
{
	struct instance *instance = context;
	if (!instance->started || atomic_load(&instance->stopping) || atomic_load(&instance->finished))
		return;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "mapped file");
	int result = instance->mapped_file_callback(instance->memory, file);
	if (!result)
		return;
	instance_fail(instance, result, "mapped file callback", NULL);
	end(instance);
}

static int host_watch_mapped_files(const struct iaprof_host *host, iaprof_mapped_file_callback *callback)
{
	struct instance *instance = instance_of(host);
	if (!(instance->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES) ||
	    !instance->services->mapped_files || instance->mapped_file_callback)
		return -EINVAL;
	instance->mapped_file_callback = callback;
	return mapped_files_watch(instance->services->mapped_files, file_is_mapped, instance) ? 0 : -ENOMEM;
}

static const struct iaprof_target *host_target(const struct iaprof_host *host)
{
	return &instance_of(host)->services->target;
}

static void host_finished(const struct iaprof_host *host)
{
	end(instance_of(host));
}

static void host_request_times(const struct iaprof_host *host, uint64_t resolution)
{
	instance_of(host)->time_resolution =
		resolution < IAPROF_TIME_RESOLUTION_MIN ? IAPROF_TIME_RESOLUTION_MIN : resolution;
}

IAPROF_PRINTF(4, 5)
static void host_check_item(const struct iaprof_host *host, uint32_t state, const char *name, const char *format, ...)
{
	const struct instance_services *services = instance_of(host)->services;
	if (!services->check_item)
		return;
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	services->check_item(services->context, state, name ? name : "", text);
}

static void host_offline(const struct iaprof_host *host)
{
	instance_of(host)->offline = true;
}

void instance_host_init(struct instance *instance)
{
	instance->host = (struct iaprof_host){
		.size = sizeof instance->host,
		.abi_version = IAPROF_ABI_VERSION,
		.schema_version = IAPROF_SCHEMA_VERSION,
		.instance_name = instance->name,
		.clock = host_clock,
		.log = host_log,
		.fail = host_fail,
		.emit = host_emit,
		.intern_string = host_intern_string,
		.intern_stack = host_intern_stack,
		.declare_value_type = host_declare_value_type,
		.lost = host_lost,
		.metadata = host_metadata,
		.watch_fd = host_watch_fd,
		.unwatch_fd = host_unwatch_fd,
		.watch_timer = host_watch_timer,
		.target = host_target,
		.finished = host_finished,
		.request = instance_request,
		.output_open = instance_output_open,
		.output_write = instance_output_write,
		.output_flush = instance_output_flush,
		.output_close = instance_output_close,
		.output_discard = instance_output_discard,
		.core = instance,
		.command_environment = host_command_environment,
		.watch_mapped_files = host_watch_mapped_files,
		.check_item = host_check_item,
		.output_is_single = instance_output_is_single,
		.offline = host_offline,
		.request_times = host_request_times,
		.default_interval = instance_default_interval,
		.end_run = instance_end_run,
		.run_is_ending = instance_run_is_ending,
		.screen_take = instance_screen_take,
		.screen_release = instance_screen_release,
		.output_private = instance_output_private,
		.output_publish = instance_output_publish,
	};
}

void instance_host_release(struct instance *instance)
{
	instance_give_back_screen(instance);
	for (size_t i = 0; i < instance->watches.count; i++) {
		if (instance->watches.items[i]->loop_watch)
			loop_unwatch(instance->services->loop, instance->watches.items[i]->loop_watch);
		free(instance->watches.items[i]);
	}
	array_free(&instance->watches);
	for (size_t i = 0; i < instance->outputs.count; i++)
		output_discard(instance->outputs.items[i]);
	array_free(&instance->outputs);
}
