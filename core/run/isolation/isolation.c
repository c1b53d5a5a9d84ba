/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and frees the process of an isolated plugin: see isolation.h. */
#include "run/isolation/isolation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/isolation/isolated_process.h"
#include "run/isolation/isolation_state.h"

uint64_t isolation_cost(const struct isolation *isolation)
{
	/* Also on other threads than that of child_cpu_time(). */
	pid_t process = isolation ? isolation->child.pid : 0;
	return process ? clock_of_process(process) : 0;
}

pid_t isolation_process(const struct isolation *isolation)
{
	return isolation ? isolation->child.pid : 0;
}

bool isolation_is_dead(const struct isolation *isolation)
{
	return isolation && isolation->is_dead;
}

struct start {
	struct isolation *isolation;
	int service; /* the end of the process; -1: a source */
};

static void run_process(void *context, int channel)
{
	const struct start *start = context;
	struct isolated_process process = { .instance = start->isolation->instance,
					    .ring = start->isolation->ring,
					    .channel = channel,
					    .service = start->service,
					    .memory = start->isolation->sink.memory,
					    .wake = start->isolation->wake };
	isolated_process_run(&process);
}

/* Starts the process. Returns 0 or a negative errno. */
static int start(struct isolation *isolation)
{
	int service[2] = { -1, -1 };
	if (isolation->is_sink && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, service))
		return -errno;
	isolation->sink.service = service[0];
	struct start start = { .isolation = isolation, .service = service[1] };
	/*
	 * Text that a plugin prints must not appear in the output of a sink. A sink keeps a terminal, on which it may
	 * draw.
	 */
	bool has_terminal = isolation->is_sink && isatty(STDOUT_FILENO);
	const int streams[] = { STDIN_FILENO, has_terminal ? STDOUT_FILENO : STDERR_FILENO, STDERR_FILENO };
	const struct child_setup setup = { .run = run_process,
					   .context = &start,
					   .channel = SOCK_SEQPACKET,
					   .streams = streams,
					   .kept = { isolation->wake, service[1] },
					   .is_leader = true,
					   .dies_with_us = true };
	fflush(NULL);
	int result = child_start(&isolation->child, &setup);
	if (service[1] >= 0)
		close(service[1]);
	isolation->sink.progress.helper.pid = isolation->intake.process = isolation->child.pid;
	isolation->intake.process_descriptor = isolation->child.descriptor;
	return result;
}

struct isolation *isolation_new(struct instance *instance, struct error *error)
{
	struct isolation *isolation = calloc(1, sizeof *isolation);
	int result = isolation ? 0 : -ENOMEM;
	if (isolation) {
		isolation->instance = instance;
		isolation->is_sink = instance->plugin->description.kind == IAPROF_PLUGIN_SINK;
		isolation->child = (struct child)CHILD_NONE;
		isolation->sink.service = -1;
		pthread_mutex_init(&isolation->sink.lock, NULL);
		isolation->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		isolation->ring = record_ring_new();
		isolation->intake = (struct record_intake){ .ring = isolation->ring,
							    .instance = instance,
							    .process_descriptor = -1 };
		result = isolation->wake < 0 || !isolation->ring ? -errno
			 : isolation->is_sink                    ? isolation_sink_init(isolation)
								 : record_intake_init(&isolation->intake);
	}
	if (!result)
		result = start(isolation);
	if (!result)
		return isolation;
	error_set(error, result, "%s: cannot start a process for the plugin: %s (isolate=no)", instance->name,
		  strerror(-result));
	if (isolation)
		isolation_free(isolation);
	return NULL;
}

void isolation_free(struct isolation *isolation)
{
	if (isolation->child.pid && isolation->is_configured && !isolation->is_dead)
		isolation_call_destroy(isolation);
	isolation_report_dropped_lines(isolation);
	child_kill(&isolation->child, END_TIME);
	if (isolation->is_sink)
		isolation_sink_free(isolation);
	isolation_close_channels(isolation);
	child_close(&isolation->child);
	record_intake_free(&isolation->intake);
	record_ring_free(isolation->ring);
	run_delay_release(&isolation->delay);
	outbox_free(&isolation->outbox);
	pthread_mutex_destroy(&isolation->sink.lock);
	free(isolation);
}
