/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and frees the process of an isolated plugin: see isolation.h. */
#include "run/isolation/isolation.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/machine.h"
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

/* The new process has its own signal settings later, but a service manager may signal all processes before. */
static void ignore_signals(void)
{
	isolated_process_set_signals(SIG_IGN);
}

/* Starts the process. memory: its descriptor. Returns 0 or a negative errno. */
static int start(struct isolation *isolation, int memory)
{
	int service[2] = { -1, -1 };
	if (isolation->is_sink && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, service))
		return -errno;
	isolation->sink.service = service[0];
	CLEANUP_FREE char *program = program_path();
	char *arguments[] = { (char *)ISOLATED_PROCESS_PROGRAM, isolation->instance->plugin->path, NULL };
	/*
	 * Text that a plugin prints must not appear in the output of a sink. A sink keeps a terminal, on which it may
	 * draw.
	 */
	bool has_terminal = isolation->is_sink && isatty(STDOUT_FILENO);
	const int streams[] = { STDIN_FILENO, has_terminal ? STDOUT_FILENO : STDERR_FILENO, STDERR_FILENO };
	const struct child_setup setup = { .path = program,
					   .arguments = arguments,
					   .channel = SOCK_SEQPACKET,
					   .streams = streams,
					   .passed = { memory, isolation->wake, service[1] },
					   .is_leader = true,
					   .dies_with_us = true,
					   .prepare = ignore_signals };
	int result = program ? child_start(&isolation->child, &setup) : -ENOMEM;
	if (service[1] >= 0)
		close(service[1]);
	isolation->sink.progress.helper.pid = isolation->intake.process = isolation->child.pid;
	isolation->intake.process_descriptor = isolation->child.descriptor;
	return result;
}

/* Makes what the process shares with iaprof, and starts it. Returns 0 or a negative errno. */
static int share_and_start(struct isolation *isolation, const struct instance_configuration *configuration)
{
	CLEANUP_CLOSE int memory = -1;
	isolation->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	isolation->memory = isolation->wake < 0 ? NULL : shared_memory_new(configuration, &memory);
	if (!isolation->memory)
		return -errno;
	isolation->memory->log_level = log_level();
	isolation->memory->number = isolation->instance->number;
	isolation->intake.ring = &isolation->memory->ring;
	int result = isolation->is_sink ? 0 : record_intake_init(&isolation->intake);
	return result ? result : start(isolation, memory);
}

struct isolation *isolation_new(struct instance *instance, const struct instance_configuration *configuration,
				struct error *error)
{
	struct isolation *isolation = calloc(1, sizeof *isolation);
	int result = -ENOMEM;
	if (isolation) {
		isolation->instance = instance;
		isolation->is_sink = instance->plugin->description.kind == IAPROF_PLUGIN_SINK;
		isolation->child = (struct child)CHILD_NONE;
		isolation->sink.service = -1;
		isolation->intake = (struct record_intake){ .instance = instance, .process_descriptor = -1 };
		pthread_mutex_init(&isolation->sink.lock, NULL);
		result = share_and_start(isolation, configuration);
	}
	if (!result)
		return isolation;
	/* Its shared memory is a file in memory. */
	error_set(error, result, "%s: cannot start a process for the plugin: %s (%sisolate=no)", instance->name,
		  strerror(-result), result == -EFBIG ? "ulimit -f, or " : "");
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
	shared_memory_free(isolation->memory);
	run_delay_release(&isolation->delay);
	outbox_free(&isolation->outbox);
	pthread_mutex_destroy(&isolation->sink.lock);
	free(isolation);
}
