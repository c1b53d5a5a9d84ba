/* SPDX-License-Identifier: Apache-2.0 */
/* Lifecycle of an instance: see instance.h. */
#include "run/instance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/thread.h"
#include "config/value.h"
#include "run/instance_output.h"
#include "run/instance_watch.h"
#include "run/isolation/isolation.h"

/* Key isolate of every source and sink. */
static int set_isolate(struct instance *instance, const char *value, struct error *error)
{
	const struct iaprof_plugin *description = &instance->plugin->description;
	bool isolate;
	if (value_parse_bool(value, &isolate))
		return error_set(error, EINVAL, "isolate=%s: expected yes or no", value_excerpt(value).text);
	if (isolate && description->kind == IAPROF_PLUGIN_DECODER)
		return error_set(error, EINVAL, "isolate=yes: a %s runs in the process of iaprof",
				 plugin_kind_name(description->kind));
	if (isolate && description->flags & IAPROF_PLUGIN_REPLAYS)
		return error_set(error, EINVAL, "isolate=yes: a replay runs in the process of iaprof");
	instance->is_isolated = isolate;
	return 0;
}

/* Key optional of every source. */
static int set_optional(struct instance *instance, const char *value, struct error *error)
{
	if (value_parse_bool(value, &instance->is_optional))
		return error_set(error, EINVAL, "optional=%s: expected yes or no", value_excerpt(value).text);
	return 0;
}

static int store_settings(struct instance *instance, const struct instance_configuration *configuration,
			  struct error *error)
{
	const struct option_table *options = &instance->plugin->options;
	bool has_output = instance->plugin->description.kind == IAPROF_PLUGIN_SINK &&
			  !(instance->plugin->description.flags & IAPROF_PLUGIN_NO_OUTPUT);
	bool is_source = instance->plugin->description.kind == IAPROF_PLUGIN_SOURCE;
	int result = option_table_set_defaults(options, instance->memory, error);
	for (size_t i = 0; !result && i < configuration->settings.count; i++) {
		const struct setting *setting = &configuration->settings.items[i];
		bool is_output = has_output && !strcmp(setting->key, "output");
		struct iaprof_option option;
		if (is_output)
			result = output_target_set(&instance->output, setting->value, error);
		else if (!strcmp(setting->key, "isolate"))
			result = set_isolate(instance, setting->value, error);
		else if (is_source && !strcmp(setting->key, "optional"))
			result = set_optional(instance, setting->value, error);
		else if (has_output && !option_table_find(options, setting->key, &option))
			result = option_table_refuse_key(options, setting->key, "output", error);
		else
			result = option_table_set(options, instance->memory, setting->key, setting->value, error);
		if (result)
			error_wrap(error, "%s: %s", setting->origin, instance->name);
	}
	return result;
}

struct instance *instance_new(struct plugin *plugin, const struct instance_configuration *configuration,
			      uint16_t number, struct instance_services *services, struct error *error)
{
	struct instance *instance = calloc(1, sizeof *instance);
	if (!instance) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&instance->lock, NULL);
	instance->plugin = plugin;
	instance->services = services;
	instance->number = number;
	instance->is_isolated = plugin->is_foreign && !(plugin->description.flags & IAPROF_PLUGIN_REPLAYS);
	const struct iaprof_plugin *description = &plugin->description;
	instance->name = format_new("%s%s%s", description->name, configuration->id ? "." : "",
				    configuration->id ? configuration->id : "");
	instance->memory = calloc(1, description->instance_size);
	instance->output = OUTPUT_TARGET_INIT;
	instance->output.extension = plugin->operations.extension;
	instance->output.write_by = services->write_by;
	instance->output.context = services->context;
	if (!instance->name || !instance->memory)
		error_set(error, ENOMEM, "out of memory");
	else if (!store_settings(instance, configuration, error)) {
		instance_host_init(instance);
		if (instance->is_isolated)
			instance->isolation = isolation_new(instance, configuration, error);
		if (instance->is_isolated ? instance->isolation != NULL : !plugin_load_code(plugin, error))
			return instance;
	}
	instance_free(instance);
	return NULL;
}

static void call_destroy(struct instance *instance)
{
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "destroy");
	instance->plugin->description.destroy(&instance->host, instance->memory);
}

static void destroy(struct instance *instance)
{
	if (instance->isolation)
		isolation_free(STEAL_POINTER(instance->isolation));
	else if (instance->configured && instance->plugin->description.destroy)
		call_destroy(instance);
}

void instance_free(struct instance *instance)
{
	if (!instance)
		return;
	/* Another run may have the numbers of descriptors that destroy() closes. */
	instance_watch_pause(instance);
	destroy(instance);
	instance_host_release(instance);
	if (instance->memory)
		option_table_release(&instance->plugin->options, instance->memory);
	output_target_release(&instance->output);
	record_gate_free(&instance->gate);
	free(instance->memory);
	free(instance->name);
	pthread_mutex_destroy(&instance->lock);
	free(instance);
}

void instance_set_error(struct instance *instance, const struct error *error)
{
	pthread_mutex_lock(&instance->lock);
	if (!instance->error.text[0])
		instance->error = *error;
	pthread_mutex_unlock(&instance->lock);
}

int instance_fail(struct instance *instance, int result, const char *callback, struct error *error)
{
	struct error failure = { 0 };
	pthread_mutex_lock(&instance->lock);
	if (instance->cause.text[0])
		error_set(&failure, result, "%s", instance->cause.text);
	else
		error_set(&failure, result, "%s() failed: %s", callback, strerror(abs(result)));
	error_wrap(&failure, "%s %s", plugin_kind_name(instance->plugin->description.kind), instance->name);
	if (!instance->error.text[0])
		instance->error = failure;
	pthread_mutex_unlock(&instance->lock);
	if (error)
		*error = failure;
	return failure.code;
}

bool instance_is_dead(const struct instance *instance)
{
	return isolation_is_dead(instance->isolation);
}

static void begin_callback(struct instance *instance)
{
	pthread_mutex_lock(&instance->lock);
	instance->cause = (struct error){ 0 };
	pthread_mutex_unlock(&instance->lock);
}

/* A positive result is an error of the plugin and counts as a failure. */
static int end_callback(struct instance *instance, int result, const char *callback, struct error *error)
{
	return result ? instance_fail(instance, result, callback, error) : 0;
}

static int call(struct instance *instance, int (*callback)(const struct iaprof_host *host, void *instance),
		const char *name, struct error *error)
{
	if (instance->isolation)
		return isolation_call(instance->isolation, name, error);
	if (!callback)
		return 0;
	begin_callback(instance);
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, name);
	return end_callback(instance, callback(&instance->host, instance->memory), name, error);
}

int instance_configure(struct instance *instance, struct error *error)
{
	instance->configured = true;
	return call(instance, instance->plugin->description.configure, "configure", error);
}

int instance_probe(struct instance *instance, struct error *error)
{
	return call(instance, instance->plugin->operations.probe, "probe", error);
}

void instance_check(struct instance *instance)
{
	if (!instance->plugin->operations.check)
		return;
	if (instance->isolation) {
		(void)isolation_call(instance->isolation, "check", NULL);
		return;
	}
	begin_callback(instance);
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "check");
	instance->plugin->operations.check(&instance->host, instance->memory);
}

int instance_prepare(struct instance *instance, struct error *error)
{
	int result = call(instance, instance->plugin->operations.prepare, "prepare", error);
	instance->prepared = !result;
	return result;
}

static void *run_thread(void *argument)
{
	struct instance *instance = argument;
	struct plugin_call before = instance_call_begin(instance, "thread");
	int result = instance->plugin->operations.thread(&instance->host, instance->memory,
							 (const volatile int *)&instance->stopping);
	plugin_call_end(&before);
	(end_callback(instance, result, "thread", NULL) ? instance_end_early : instance_end)(instance);
	return NULL;
}

static int start_thread(struct instance *instance)
{
	/* Not by the thread: it may begin after a timer has failed. */
	begin_callback(instance);
	int result = -thread_start(&instance->thread, run_thread, instance);
	instance->has_thread = !result;
	return result;
}

int instance_start(struct instance *instance, struct error *error)
{
	if (instance->services->bus)
		bus_start_gate(instance->services->bus, &instance->gate);
	int result = call(instance, instance->plugin->operations.start, "start", error);
	if (!result && instance->isolation)
		result = isolation_watch(instance->isolation);
	else if (!result && instance->plugin->operations.thread &&
		 instance->plugin->description.kind == IAPROF_PLUGIN_SOURCE)
		result = end_callback(instance, start_thread(instance), "thread", error);
	instance->started = !result;
	return result;
}

/* result: of the callbacks that drain a source. For an isolated one, its process has done this. Returns result. */
static int note_end(struct instance *instance, int result)
{
	if (result && !instance->isolation && instance->plugin->description.kind == IAPROF_PLUGIN_SOURCE)
		instance_end_early(instance);
	return result;
}

int instance_stop(struct instance *instance, struct error *error)
{
	if (instance->stopped_at)
		return 0;
	instance->stopped_at = clock_monotonic();
	atomic_store(&instance->stopping, 1);
	if (instance->has_thread) {
		pthread_join(instance->thread, NULL);
		instance->has_thread = false;
	}
	return note_end(instance, call(instance, instance->plugin->operations.stop, "stop", error));
}

int instance_finish(struct instance *instance, struct error *error)
{
	return note_end(instance, call(instance, instance->plugin->operations.finish, "finish", error));
}

void instance_begin_stop(struct instance *instance)
{
	if (instance->isolation && !instance->stopped_at)
		isolation_begin(instance->isolation, "stop");
}

void instance_begin_finish(struct instance *instance)
{
	if (instance->isolation)
		isolation_begin(instance->isolation, "finish");
}

int instance_records(struct instance *instance, const struct iaprof_batch *batch)
{
	if (instance->isolation)
		return isolation_records(instance->isolation, batch);
	begin_callback(instance);
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "records");
	return end_callback(instance, instance->plugin->operations.records(&instance->host, instance->memory, batch),
			    "records", NULL);
}

int instance_profile(struct instance *instance, const struct iaprof_profile *profile)
{
	begin_callback(instance);
	int result = instance_outputs_protect(instance, profile);
	if (instance->isolation && !result)
		return isolation_profile(instance->isolation, profile);
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(instance, "profile");
	if (!result)
		result = instance->plugin->operations.profile(&instance->host, instance->memory, profile);
	return end_callback(instance, result, "profile", NULL);
}
