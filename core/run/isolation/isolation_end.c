/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an isolated plugin's process, by itself or by iaprof: see isolation_state.h. */
#include "run/isolation/isolation_state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

/* How long a killed process is waited for, in ms: one in an uninterruptible system call ends later. */
#define REAP_TIME 1000

void isolation_close_channel(struct isolation *isolation)
{
	struct loop *loop = isolation->instance->services->loop;
	struct loop_watch **watches[] = { &isolation->channel_watch, &isolation->wake_watch, &isolation->timer_watch };
	for (size_t i = 0; i < sizeof watches / sizeof *watches; i++)
		if (*watches[i] && !isolation->is_sink)
			loop_unwatch(loop, STEAL_POINTER(*watches[i]));
	if (isolation->channel >= 0)
		close(isolation->channel);
	if (isolation->wake >= 0)
		close(isolation->wake);
	if (isolation->sink.service >= 0)
		close(isolation->sink.service);
	isolation->channel = isolation->wake = isolation->sink.service = -1;
}

int isolation_reap(struct isolation *isolation, bool kill_it)
{
	int status = -1;
	pid_t process = isolation->process;
	if (!process)
		return -1;
	if (kill_it)
		kill(process, SIGKILL);
	for (int i = 0; i < REAP_TIME; i++) {
		pid_t ended = waitpid(process, &status, WNOHANG);
		if (ended)
			break;
		poll(NULL, 0, 1);
	}
	isolation->process = 0;
	return status;
}

void isolation_die(struct isolation *isolation, const char *what, const char *callback)
{
	struct instance *instance = isolation->instance;
	if (isolation->is_dead)
		return;
	isolation->is_dead = true;
	isolation_reap(isolation, true);
	struct error ignored = { 0 }, error = { 0 };
	if (isolation->is_sink)
		isolation_sink_discard(isolation);
	else
		isolation_take_records(isolation, 2 * RECORD_RING_SIZE / RECORD_INTAKE_CHUNK, &ignored);
	isolation_close_channel(isolation);
	error_set(&error, ECHILD, *callback ? "%s in callback %s" : "%s", what, callback);
	error_wrap(&error, "%s %s", plugin_kind_name(instance->plugin->description.kind), instance->name);
	log_message(IAPROF_LOG_ERROR, "%s", error.text);
	pthread_mutex_lock(&instance->lock);
	if (!instance->error.text[0])
		instance->error = error;
	instance->error_is_shown = true;
	pthread_mutex_unlock(&instance->lock);
	(instance->started ? instance_end_early : instance_end)(instance);
}

const char *isolation_callback(const struct isolation *isolation)
{
	return isolated_callback_name(atomic_load(&isolation->ring->callback));
}

void isolation_die_of_status(struct isolation *isolation)
{
	char what[128];
	const char *callback = isolation_callback(isolation);
	int status = isolation_reap(isolation, false);
	if (status != -1 && WIFSIGNALED(status))
		snprintf(what, sizeof what, "ended by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "KILL");
	else if (status != -1 && WIFEXITED(status))
		snprintf(what, sizeof what, "ended with status %d", WEXITSTATUS(status));
	else
		snprintf(what, sizeof what, "closed its connection to iaprof");
	isolation_die(isolation, what, callback);
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
