/* SPDX-License-Identifier: Apache-2.0 */
/* See zygote.h. */
#include "symbolizer/worker/zygote.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/priority.h"
#include "base/sanitizer.h"
#include "child/channel.h"
#include "child/child.h"
#include "child/confinement.h"
#include "plugin/plugin_call.h"
#include "symbolizer/worker/worker_message.h"

struct zygote {
	int (*serve)(void *context, int socket);
	void *context;
	void *prepared;        /* for confinement_tighten() */
	ARRAY(pid_t) children; /* not waited for yet, so their pids are not reused */
};

static void reap(struct zygote *zygote)
{
	for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
		for (size_t i = 0; i < zygote->children.count; i++)
			if (zygote->children.items[i] == pid) {
				zygote->children.items[i] = zygote->children.items[--zygote->children.count];
				break;
			}
}

static _Noreturn void be_child(const struct zygote *zygote, const struct worker_spawn *request, pid_t parent,
			       int socket)
{
	/* A file of another user must not slow down the machine. */
	if (!request->is_trusted)
		priority_give_up();
	/* A child ends with the worker, which ends with iaprof. */
	bool is_confined = child_die_with(parent) && !close(CHILD_CHANNEL) &&
			   !confinement_tighten(zygote->prepared, request->data_limit);
	_exit(is_confined && !zygote->serve(zygote->context, socket) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int spawn(struct zygote *zygote, const struct worker_spawn *request, int socket)
{
	if (!array_reserve(&zygote->children, zygote->children.count + 1))
		return -ENOMEM;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		be_child(zygote, request, parent, socket);
	if (pid < 0)
		return -errno;
	zygote->children.items[zygote->children.count++] = pid;
	return pid;
}

static void signal_child(const struct zygote *zygote, pid_t pid, int number)
{
	for (size_t i = 0; i < zygote->children.count; i++)
		if (zygote->children.items[i] == pid)
			kill(pid, number);
}

static int answer(void *context, int socket, const struct channel_header *header, int descriptor)
{
	CLEANUP_CLOSE int child_socket = descriptor;
	struct zygote *zygote = context;
	struct worker_spawn request;
	struct worker_child_id child;
	reap(zygote);
	if ((header->type == WORKER_KILL || header->type == WORKER_EXAMINE) && header->size == sizeof child) {
		int code = channel_read(socket, &child, sizeof child, NULL);
		if (!code)
			signal_child(zygote, child.pid, header->type == WORKER_KILL ? SIGKILL : PLUGIN_EXAMINE_SIGNAL);
		return code;
	}
	if (header->type != WORKER_SPAWN || header->size != sizeof request || child_socket < 0)
		return -EPROTO;
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code)
		return code;
	child.pid = spawn(zygote, &request, child_socket);
	return channel_send_bytes(socket, WORKER_SPAWNED, &child, sizeof child, -1, NULL);
}

/*
 * A child reads a file and ends: returning memory and allocating it again took a fifth of its time. Tables above 4 MiB
 * are allocated outside the heap, where they grow without a copy.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
}

void zygote_run(int (*serve)(void *context, int socket), void *context)
{
	keep_memory();
	struct zygote zygote = { .serve = serve, .context = context, .prepared = confinement_prepare() };
	/* A compromised child must not have a terminal: standard input is /dev/null. */
	bool has_terminal = !HAS_SANITIZER && dup2(STDIN_FILENO, STDERR_FILENO) < 0;
	if (!zygote.prepared || has_terminal || confinement_enter())
		_exit(EXIT_FAILURE);
	_exit(channel_serve(CHILD_CHANNEL, answer, &zygote) ? EXIT_FAILURE : EXIT_SUCCESS);
}
