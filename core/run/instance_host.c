/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the host interface of instances (iaprof/host.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "run/instance.h"
#include "run/instance_output.h"
#include "run/instance_run.h"
#include "run/injectors.h"
#include "run/instance_watch.h"

/* Formats a text of a plugin, which may have no format. */
IAPROF_PRINTF(3, 0)
static void format_text(char *text, size_t size, const char *format, va_list arguments)
{
	*text = '\0';
	if (format)
		vsnprintf(text, size, format, arguments);
}

static uint64_t host_clock(const struct iaprof_host *host)
{
	return clock_monotonic();
}

IAPROF_PRINTF(3, 4) static void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	if (level > log_level())
		return;
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	format_text(text, sizeof text, format, arguments);
	va_end(arguments);
	const struct instance *instance = instance_of(host);
	if (instance->services->log)
		instance->services->log(instance->services->context, instance, level, text);
	else
		log_message(level, "%s: %s", instance->name, text);
}

IAPROF_PRINTF(3, 4) static int host_fail(const struct iaprof_host *host, int code, const char *format, ...)
{
	struct instance *instance = instance_of(host);
	va_list arguments;
	va_start(arguments, format);
	pthread_mutex_lock(&instance->lock);
	if (format && instance->cause.text[0])
		error_wrap_va(&instance->cause, format, arguments);
	else if (format)
		error_set_va(&instance->cause, code ? code : EIO, format, arguments);
	pthread_mutex_unlock(&instance->lock);
	va_end(arguments);
	return -abs(code ? code : EIO);
}

/* Returns the gate of an instance; NULL if it has none here. */
static struct record_gate *gate_of(struct instance *instance)
{
	return instance_is_lossless(instance) || instance->is_gated_elsewhere ? NULL : &instance->gate;
}

/*
 * Handles a batch that did not fit into the queue: records that others depend on are sent anyway, because a source
 * sends them only once; the rest is counted.
 */
static void refuse(struct instance *instance, const struct iaprof_batch *batch, unsigned how)
{
	pthread_mutex_lock(&instance->lock);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		struct iaprof_batch one = { .records = record, .size = record->size, .count = 1 };
		if (!refused_may_be(record) &&
		    !bus_emit_through(instance->services->bus, gate_of(instance), instance->number, &one,
				      (how & BUS_KEEP_SOURCE) | BUS_RESERVE, NULL))
			continue;
		refused_add(&instance->refused, record);
	}
	pthread_mutex_unlock(&instance->lock);
}

static int host_emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	struct instance *instance = instance_of(host);
	struct record_gate *gate = gate_of(instance);
	bool replays = instance->plugin->description.flags & IAPROF_PLUGIN_REPLAYS;
	unsigned how = (instance_is_lossless(instance) ? BUS_WAIT : 0) | (replays ? BUS_KEEP_SOURCE : 0);
	struct error error = { 0 };
	int result = bus_emit_through(instance->services->bus, gate, instance->number, batch, how, &error);
	if (result == -EINVAL) {
		host_fail(host, result, "%s", error.text);
		instance_fail(instance, result, "emit", NULL);
		instance_end_early(instance);
		return result;
	}
	if (result)
		refuse(instance, batch, how);
	return 0;
}

static int host_advance(const struct iaprof_host *host, uint64_t time)
{
	struct instance *instance = instance_of(host);
	struct record_gate *gate = gate_of(instance);
	uint64_t now = clock_monotonic();
	if (!instance_is_lossless(instance) && time > now && time - now > IAPROF_TIME_AHEAD_MAX)
		return -EINVAL;
	struct iaprof_record_progress record = { .header = { .size = sizeof record,
							     .type = IAPROF_RECORD_PROGRESS,
							     .source = instance->number,
							     .time = time } };
	struct iaprof_batch batch = { .records = &record, .size = sizeof record, .count = 1 };
	(void)bus_emit_through(instance->services->bus, gate, instance->number, &batch, BUS_ALWAYS | BUS_KEEP_SOURCE,
			       NULL);
	return 0;
}

static uint32_t host_intern_string(const struct iaprof_host *host, const char *text, size_t length)
{
	return text ? intern_string(instance_of(host)->services->intern, text, length) : 0;
}

static uint32_t host_intern_stack(const struct iaprof_host *host, uint32_t pid, const uint64_t *addresses, size_t count)
{
	struct instance *instance = instance_of(host);
	if (!addresses)
		return 0;
	return (instance->names_frames ? intern_stack : intern_addresses)(instance->services->intern, pid, addresses,
									  count);
}

static uint32_t host_intern_frame(const struct iaprof_host *host, const struct iaprof_named_frame *frame)
{
	struct instance *instance = instance_of(host);
	if (!frame)
		return 0;
	instance->names_frames = true;
	return intern_frame(instance->services->intern, frame);
}

static uint32_t intern_text_of(const struct iaprof_host *host, const char *text)
{
	return intern_text_id(instance_of(host)->services->intern, text);
}

/* Sends one record of the instance, even if the queue is full. */
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
	uint32_t id = name && unit ? intern_value_type(instance_of(host)->services->intern, name, unit) : 0;
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

void instance_end_early(struct instance *instance)
{
	if (instance->plugin->description.kind == IAPROF_PLUGIN_SOURCE &&
	    !atomic_exchange(&instance->ended_early, true))
		host_lost(&instance->host, "records: the plugin ended early", clock_monotonic(), IAPROF_COUNT_UNKNOWN,
			  0, 0);
	instance_end(instance);
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
	struct record_gate counted = bus_take_counts(instance->services->bus, &instance->gate);
	for (int i = 0; i < GATE_REASON_COUNT; i++)
		if (counted.counts[i])
			host_lost(&instance->host, gate_reason_text((enum gate_reason)i), counted.begin,
				  counted.counts[i], 0, 0);
}

IAPROF_PRINTF(3, 4) static void host_metadata(const struct iaprof_host *host, const char *key, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	format_text(text, sizeof text, format, arguments);
	va_end(arguments);
	struct iaprof_record_metadata record = { .key = intern_text_of(host, key),
						 .value = intern_text_of(host, text) };
	send(host, &record.header, IAPROF_RECORD_METADATA, sizeof record);
}

static int host_command_environment(const struct iaprof_host *host, const char *name, const char *value, uint32_t how)
{
	struct instance_services *services = instance_of(host)->services;
	if (!services->target.command_pid || !services->command_environment)
		return -ENOENT;
	if (!name || how > IAPROF_ENVIRONMENT_PREPEND_PATH)
		return -EINVAL;
	return services->command_environment(services->context, name, value ? value : "",
					     how == IAPROF_ENVIRONMENT_PREPEND_PATH);
}

static int host_inject(const struct iaprof_host *host, const struct iaprof_injection *injection)
{
	struct instance *instance = instance_of(host);
	struct instance_services *services = instance->services;
	char request[INJECTION_REQUEST_MAX];
	struct error error = { 0 };
	struct iaprof_injection known = { 0 };
	bool is_whole = injection && IAPROF_HAS_MEMBER(injection, injection->size, calls);
	if (is_whole)
		memcpy(&known, injection, injection->size < sizeof known ? injection->size : sizeof known);
	size_t size = is_whole ? injection_pack(&known, request) : 0;
	if (!size || !services->inject)
		return host->fail(host, size ? ENOTSUP : EINVAL, "cannot load a library into process %u: %s",
				  injection ? injection->pid : 0, size ? "not in this run" : "malformed request");
	int result = services->inject(services->context, instance, request, size, &error);
	return result ? host->fail(host, result, "%s", error.text) : 0;
}

static const struct iaprof_target *host_target(const struct iaprof_host *host)
{
	return &instance_of(host)->services->target;
}

static uint32_t host_sample_stride(const struct iaprof_host *host, uint32_t longest)
{
	struct instance *instance = instance_of(host);
	const struct instance_services *services = instance->services;
	uint32_t stride = services->sample_stride ? services->sample_stride(services->context) : 1;
	instance->longest_stride = longest;
	return stride < longest ? stride : longest ? longest : 1;
}

static void host_finished(const struct iaprof_host *host)
{
	instance_end(instance_of(host));
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
	format_text(text, sizeof text, format, arguments);
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
		.target = host_target,
		.finished = host_finished,
		.core = instance,
		.command_environment = host_command_environment,
		.inject = host_inject,
		.check_item = host_check_item,
		.offline = host_offline,
		.request_times = host_request_times,
		.intern_frame = host_intern_frame,
		.advance = host_advance,
		.sample_stride = host_sample_stride,
	};
	instance_output_host(&instance->host);
	instance_watch_host(&instance->host);
	instance_run_host(&instance->host);
}

void instance_host_release(struct instance *instance)
{
	instance_give_back_screen(instance);
	instance_watch_release(instance);
	for (size_t i = 0; i < instance->outputs.count; i++)
		output_discard(instance->outputs.items[i]);
	array_free(&instance->outputs);
}
