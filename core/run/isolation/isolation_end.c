/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an isolated plugin's process, by itself or by iaprof: see isolation_state.h. */
#include "run/isolation/isolation_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

void isolation_close_channels(struct isolation *isolation)
{
	struct loop *loop = isolation->instance->services->loop;
	struct loop_watch **watches[] = { &isolation->channel_watch, &isolation->wake_watch, &isolation->timer_watch };
	int *const descriptors[] = { &isolation->child.channel, &isolation->wake, &isolation->sink.service };
	for (size_t i = 0; i < sizeof watches / sizeof *watches; i++)
		if (*watches[i] && !isolation->is_sink)
			loop_unwatch(loop, STEAL_POINTER(*watches[i]));
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
		if (*descriptors[i] >= 0)
			close(STEAL_DESCRIPTOR(*descriptors[i]));
}

void isolation_die(struct isolation *isolation, const char *what, const char *callback)
{
	struct instance *instance = isolation->instance;
	if (isolation->is_dead)
		return;
	isolation->is_dead = true;
	child_kill(&isolation->child, END_TIME);
	struct error ignored = { 0 }, error = { 0 };
	if (isolation->is_sink)
		isolation_sink_discard(isolation);
	else
		isolation_take_records(isolation, 2 * RECORD_RING_SIZE / RECORD_INTAKE_CHUNK, &ignored);
	isolation_close_channels(isolation);
	outbox_free(&isolation->outbox);
	error_set(&error, ECHILD, *callback ? "%s in callback %s" : "%s", what, callback);
	error_wrap(&error, "%s %s", plugin_kind_name(instance->plugin->description.kind), instance->name);
	log_message(IAPROF_LOG_ERROR, "%s", error.text);
	pthread_mutex_lock(&instance->lock);
	if (!instance->error.text[0])
		instance->error = error;
	instance->error_is_shown = true;
	pthread_mutex_unlock(&instance->lock);
	/* Its thread may end it before iaprof learns that start() has returned. */
	bool has_started = instance->started || !strcmp(callback, isolated_callback_name(ISOLATED_THREAD));
	(has_started ? instance_end_early : instance_end)(instance);
}

const char *isolation_callback(const struct isolation *isolation)
{
	return isolated_callback_name(atomic_load(&isolation->memory->callback));
}

void isolation_die_of_status(struct isolation *isolation)
{
	char what[CHILD_CAUSE_SIZE];
	const char *callback = isolation_callback(isolation);
	bool has_ended = child_wait(&isolation->child, END_TIME);
	child_cause(isolation->child.status, what);
	isolation_die(isolation, has_ended ? what : "closed its connection to iaprof", callback);
}

void isolation_die_of_time(struct isolation *isolation, const char *callback, uint64_t limit)
{
	char what[128];
	snprintf(what, sizeof what, "callback %s does not return: ended after %.3g s (isolate=no waits for it)",
		 callback, (double)limit / (double)NANOSECONDS_PER_SECOND);
	isolation_die(isolation, what, "");
}

void isolation_die_of_records(struct isolation *isolation, const struct error *error)
{
	isolation_die(isolation, error->text, "");
}
