/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-worker: parses ELF, DWARF and perf maps for iaprof. This process only makes children, one for each file, and
 * ends those that iaprof gave up; it reads nothing that others wrote.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/channel.h"
#include "base/helper.h"
#include "symbolizer/worker/confinement.h"
#include "symbolizer/worker/serve.h"
#include "symbolizer/worker/worker_message.h"

struct worker {
	void *prepared;        /* for confinement_tighten() */
	ARRAY(pid_t) children; /* that were not waited for: their numbers are not used again meanwhile */
};

static void reap(struct worker *worker)
{
	for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
		for (size_t i = 0; i < worker->children.count; i++)
			if (worker->children.items[i] == pid) {
				worker->children.items[i] = worker->children.items[--worker->children.count];
				break;
			}
}

static _Noreturn void be_child(const struct worker *worker, pid_t parent, int socket, uint64_t data_limit)
{
	/* The worker ends when iaprof does. */
	bool is_confined = !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent && !close(HELPER_SOCKET) &&
			   !confinement_tighten(worker->prepared, data_limit);
	_exit(is_confined && !serve(socket) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int spawn(struct worker *worker, const struct worker_spawn *request, int socket)
{
	if (!array_reserve(&worker->children, worker->children.count + 1))
		return -ENOMEM;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		be_child(worker, parent, socket, request->data_limit);
	if (pid < 0)
		return -errno;
	worker->children.items[worker->children.count++] = pid;
	return pid;
}

static void end_child(const struct worker *worker, pid_t pid)
{
	for (size_t i = 0; i < worker->children.count; i++)
		if (worker->children.items[i] == pid)
			kill(pid, SIGKILL);
}

/* Does what one message asks for. Returns 0 or a negative errno, which ends the worker. */
static int answer(struct worker *worker, const struct channel_header *header, int descriptor)
{
	struct worker_spawn request;
	struct worker_child_id child;
	if (header->type == WORKER_KILL && header->size == sizeof child) {
		int code = channel_read(HELPER_SOCKET, &child, sizeof child, NULL);
		if (!code)
			end_child(worker, child.pid);
		return code;
	}
	if (header->type != WORKER_SPAWN || header->size != sizeof request || descriptor < 0)
		return -EPROTO;
	int code = channel_read(HELPER_SOCKET, &request, sizeof request, NULL);
	if (code)
		return code;
	child.pid = spawn(worker, &request, descriptor);
	struct iovec part = { .iov_base = &child, .iov_len = sizeof child };
	return channel_send(HELPER_SOCKET, WORKER_SPAWNED, &part, 1, -1, NULL);
}

int main(void)
{
	struct worker worker = { .prepared = confinement_prepare() };
	/* A child that was taken over has no terminal: standard input is /dev/null. */
	bool has_terminal = !CONFINEMENT_HAS_SANITIZER && dup2(STDIN_FILENO, STDERR_FILENO) < 0;
	if (!worker.prepared || has_terminal || confinement_enter())
		_exit(EXIT_FAILURE);
	struct channel_header header;
	for (int code = 0, descriptor; !code && !channel_receive(HELPER_SOCKET, &header, &descriptor, NULL);) {
		reap(&worker);
		code = answer(&worker, &header, descriptor);
		if (descriptor >= 0)
			close(descriptor);
	}
	_exit(EXIT_SUCCESS);
}
