/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the processes of --pid: see target_processes.h. */
#include "run/target_processes.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

struct target_process {
	struct target_processes *processes;
	struct loop_watch *watch; /* NULL: not watched */
	int descriptor;           /* pidfd, which is valid even if the pid is reused; -1: none */
};

int target_processes_open(struct target_processes *processes, const uint32_t *pids, size_t count, struct error *error)
{
	if (!array_reserve(&processes->items, count))
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		int descriptor = (int)syscall(SYS_pidfd_open, pids[i], 0);
		/* On other failures, such as for a thread's id, the process is not watched. */
		if (descriptor < 0 && kill((pid_t)pids[i], 0) && errno == ESRCH)
			return error_set(error, ESRCH, "-p %u: no such process", pids[i]);
		struct target_process process = { .processes = processes, .descriptor = descriptor };
		(void)array_push(&processes->items, process);
	}
	processes->running = count;
	return 0;
}

/* A pidfd is readable when the last thread of its process has ended. */
static void process_ended(void *context, uint32_t events)
{
	struct target_process *process = context;
	loop_pause(process->watch);
	process->processes->running--;
}

int target_processes_watch(struct target_processes *processes, struct loop *loop)
{
	int result = 0;
	for (size_t i = 0; !result && i < processes->items.count; i++) {
		struct target_process *process = &processes->items.items[i];
		if (process->descriptor >= 0)
			result = loop_watch_descriptor(loop, process->descriptor, EPOLLIN, process_ended, process,
						       &process->watch);
	}
	processes->watched = !result;
	return result;
}

bool target_processes_have_ended(const struct target_processes *processes)
{
	return processes->watched && processes->items.count && !processes->running;
}

void target_processes_close(struct target_processes *processes)
{
	for (size_t i = 0; i < processes->items.count; i++)
		if (processes->items.items[i].descriptor >= 0)
			close(processes->items.items[i].descriptor);
	array_free(&processes->items);
}
