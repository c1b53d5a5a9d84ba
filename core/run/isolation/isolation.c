/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and frees the process of an isolated plugin: see isolation.h. */
#include "run/isolation/isolation.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/plugin_call.h"
#include "run/isolation/isolated_process.h"
#include "run/isolation/isolation_state.h"

uint64_t isolation_cost(const struct isolation *isolation)
{
	return isolation && isolation->process ? clock_of_process(isolation->process) : 0;
}

bool isolation_is_dead(const struct isolation *isolation)
{
	return isolation && isolation->is_dead;
}

/* Starts the process. Returns 0 or a negative errno. */
static int start(struct isolation *isolation)
{
	int channel[2], service[2] = { -1, -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
		return -errno;
	isolation->channel = channel[0];
	if (isolation->is_sink && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, service)) {
		close(channel[1]);
		return -errno;
	}
	isolation->sink.service = service[0];
	fflush(NULL);
	pid_t parent = getpid();
	isolation->process = fork();
	if (isolation->process == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			process_exit_immediately(1);
		/* Ctrl-C and Ctrl-Z of a terminal are for iaprof, which ends and continues alone. */
		setsid();
		struct isolated_process process = { .instance = isolation->instance,
						    .ring = isolation->ring,
						    .channel = channel[1],
						    .service = service[1], /* -1: a source */
						    .memory = isolation->sink.memory,
						    .wake = isolation->wake };
		isolated_process_run(&process);
	}
	int result = isolation->process < 0 ? -errno : 0;
	close(channel[1]);
	if (service[1] >= 0)
		close(service[1]);
	if (result)
		isolation->process = 0;
	isolation->helper.pid = isolation->sink.progress.helper.pid = isolation->process;
	isolation->intake.process = isolation->process;
	isolation->intake.process_descriptor = result ? -1 : (int)syscall(SYS_pidfd_open, isolation->process, 0);
	return result;
}

struct isolation *isolation_new(struct instance *instance, struct error *error)
{
	struct isolation *isolation = calloc(1, sizeof *isolation);
	int result = isolation ? 0 : -ENOMEM;
	if (isolation) {
		isolation->instance = instance;
		isolation->is_sink = instance->plugin->description.kind == IAPROF_PLUGIN_SINK;
		isolation->channel = isolation->sink.service = -1;
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
	if (isolation->process && isolation->is_configured && !isolation->is_dead)
		isolation_call_destroy(isolation);
	isolation_report_dropped_lines(isolation);
	if (isolation->process)
		isolation_reap(isolation, true);
	if (isolation->is_sink)
		isolation_sink_free(isolation);
	isolation_close_channel(isolation);
	if (isolation->intake.process_descriptor >= 0)
		close(isolation->intake.process_descriptor);
	record_intake_free(&isolation->intake);
	record_ring_free(isolation->ring);
	run_delay_release(&isolation->delay);
	outbox_free(&isolation->outbox);
	pthread_mutex_destroy(&isolation->sink.lock);
	free(isolation);
}
