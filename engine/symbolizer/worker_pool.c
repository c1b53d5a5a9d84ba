/* SPDX-License-Identifier: Apache-2.0 */
/* See worker_pool.h. */
#include "symbolizer/worker_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "child/channel.h"
#include "symbolizer/budget.h"
#include "child/helper.h"
#include "symbolizer/worker/worker_message.h"

/* The worker only forks: without an answer for this long, the machine is too busy to profile anything. */
#define SPAWN_TIMEOUT (10 * NANOSECONDS_PER_SECOND)
/* Limit on restarts of a worker that ends by itself; more would indicate a broken installation. */
#define STARTS_MAX 64
/* Time for which a child that was handed on is kept: files are often read in bursts. */
#define SPARE_TIME (5 * NANOSECONDS_PER_SECOND)

struct worker_pool {
	struct child worker;
	char *const *arguments;
	struct run_delay *delay; /* NULL if none */
	unsigned starts;
	int failure; /* permanent reason why there is no worker */
	struct worker_child spare;
	uint64_t spare_limit;                    /* memory limit of the spare child, in bytes */
	uint64_t spare_time;                     /* when it was handed on */
	int (*serve)(void *context, int socket); /* NULL: children are processes */
	void *context;
	ARRAY(pthread_t) threads;
};

static int start_worker(struct worker_pool *pool)
{
	if (pool->worker.channel >= 0 || pool->failure)
		return pool->failure;
	if (pool->starts++ >= STARTS_MAX)
		return -ECHILD;
	int code = helper_start(&pool->worker, pool->arguments);
	/* Other failures may be temporary. */
	pool->failure = code == -ENOENT ? code : 0;
	return code;
}

struct worker_pool *worker_pool_new_without_worker(void)
{
	struct worker_pool *pool = calloc(1, sizeof *pool);
	if (pool)
		*pool = (struct worker_pool){ .worker = CHILD_NONE, .failure = -ENOENT, .spare = WORKER_CHILD_NONE };
	return pool;
}

struct worker_pool *worker_pool_new_in_threads(int (*serve)(void *context, int socket), void *context)
{
	struct worker_pool *pool = worker_pool_new_without_worker();
	if (pool) {
		pool->serve = serve;
		pool->context = context;
	}
	return pool;
}

struct worker_pool *worker_pool_new(char *const *arguments, struct run_delay *delay)
{
	struct worker_pool *pool = worker_pool_new_without_worker();
	if (!pool)
		return NULL;
	pool->arguments = arguments;
	pool->failure = 0;
	pool->delay = delay;
	/* Started now to be ready when needed; a failure is reported then. */
	start_worker(pool);
	return pool;
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	worker_child_end(pool, &pool->spare);
	child_close(&pool->worker);
	for (size_t i = 0; i < pool->threads.count; i++)
		pthread_join(pool->threads.items[i], NULL);
	array_free(&pool->threads);
	free(pool);
}

/* Argument of a thread, which frees it. */
struct served {
	int (*serve)(void *context, int socket);
	void *context;
	int socket;
};

static void *serve_in_thread(void *pointer)
{
	CLEANUP_FREE struct served *served = pointer;
	served->serve(served->context, served->socket);
	close(served->socket);
	return NULL;
}

/* Takes ownership of the socket. */
static int start_thread(struct worker_pool *pool, int socket)
{
	pthread_t thread;
	struct served *served = malloc(sizeof *served);
	if (served)
		*served = (struct served){ .serve = pool->serve, .context = pool->context, .socket = socket };
	if (!served || !array_reserve(&pool->threads, pool->threads.count + 1) ||
	    pthread_create(&thread, NULL, serve_in_thread, served)) {
		free(served);
		close(socket);
		return -ENOMEM;
	}
	pool->threads.items[pool->threads.count++] = thread;
	return 0;
}

static struct deadline spawn_deadline(struct worker_pool *pool)
{
	struct deadline deadline = deadline_make(pool->delay, SPAWN_TIMEOUT);
	deadline.latest = deadline.time;
	deadline.helper = &pool->worker.delayed;
	return deadline;
}

/* Takes ownership of the socket. */
static int start_process(struct worker_pool *pool, uint64_t data_limit, int socket, pid_t *pid)
{
	CLEANUP_CLOSE int descriptor = socket;
	struct worker_child_id child;
	struct deadline deadline = spawn_deadline(pool);
	struct worker_spawn request = { .data_limit = data_limit, .is_trusted = data_limit >= BUDGET_DATA_TRUSTED };
	struct channel_answer answer = { .type = WORKER_SPAWNED, .head = &child, .head_size = sizeof child };
	int code = channel_ask(pool->worker.channel, WORKER_SPAWN, &request, sizeof request, descriptor, &answer,
			       &deadline);
	if (code)
		child_close(&pool->worker);
	else if (child.pid <= 0)
		code = child.pid ? child.pid : -EPROTO;
	*pid = child.pid;
	return code;
}

int worker_child_start(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit)
{
	int sockets[2];
	pid_t pid = 0;
	if (pool->spare.socket >= 0 && pool->spare_limit == data_limit) {
		*child = pool->spare;
		pool->spare = WORKER_CHILD_NONE;
		return 0;
	}
	*child = WORKER_CHILD_NONE;
	int code = pool->serve ? 0 : start_worker(pool);
	if (code)
		return code;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	code = pool->serve ? start_thread(pool, sockets[1]) : start_process(pool, data_limit, sockets[1], &pid);
	if (code) {
		close(sockets[0]);
		return code;
	}
	*child = (struct worker_child){ .process = { .pid = pid }, .socket = sockets[0] };
	return 0;
}

void worker_child_hand_on(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit)
{
	worker_child_end(pool, &pool->spare);
	pool->spare = *child;
	pool->spare_limit = data_limit;
	pool->spare_time = clock_monotonic();
	*child = WORKER_CHILD_NONE;
}

bool worker_pool_has_spare(const struct worker_pool *pool)
{
	return pool->spare.socket >= 0;
}

void worker_pool_rest(struct worker_pool *pool)
{
	if (pool->spare.socket >= 0 && clock_monotonic() - pool->spare_time > SPARE_TIME)
		worker_child_end(pool, &pool->spare);
}

/* Sends the worker a message about a child. */
static void send_of_child(struct worker_pool *pool, enum worker_message type, const struct worker_child *child)
{
	struct worker_child_id id = { .pid = child->process.pid };
	struct deadline deadline = spawn_deadline(pool);
	if (pool->worker.channel >= 0 && channel_send_bytes(pool->worker.channel, type, &id, sizeof id, -1, &deadline))
		child_close(&pool->worker);
}

void worker_child_examine(struct worker_pool *pool, const struct worker_child *child)
{
	send_of_child(pool, WORKER_EXAMINE, child);
}

void worker_child_end(struct worker_pool *pool, struct worker_child *child)
{
	if (child->socket < 0)
		return;
	close(child->socket);
	send_of_child(pool, WORKER_KILL, child);
	*child = WORKER_CHILD_NONE;
}

uint64_t worker_pool_cpu_time(struct worker_pool *pool)
{
	return child_cpu_time(&pool->worker);
}

const char *worker_reason(int code)
{
	switch (-code) {
	case ENOEXEC:
		return "not a valid ELF file";
	case ETIMEDOUT:
		return "takes too long to read";
	case ECANCELED:
		return "the run ended before it was read";
	case ETIME:
		return "time limit for files of its owner exceeded";
	case EPIPE:
		return "its reader ended (the file is damaged or changing, or needs too much memory)";
	case ENOMEM:
		return "needs too much memory";
	case EFBIG:
		return "too large";
	case EDQUOT:
		return "memory limit for files of its owner exceeded";
	case EPROTO:
	case EBADMSG:
		return "its reader sent invalid data";
	case ENOENT:
	case ENOPKG:
		return "the program that reads it is not installed";
	default:
		return strerror(-code);
	}
}
