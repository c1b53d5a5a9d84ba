/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending children of the worker: see worker_pool.h. */
#include "symbolizer/worker_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "symbolizer/worker/worker_message.h"

/* The worker only forks: when it does not answer for so long, the machine is too busy to profile anything. */
#define SPAWN_TIMEOUT (10 * NANOSECONDS_PER_SECOND)
/* A worker that ends by itself is started again so often; more would be a fault of the installation. */
#define STARTS_MAX 64

struct worker_pool {
	struct helper worker;
	struct delayed_process delayed; /* the worker */
	struct run_delay *delay;        /* NULL none */
	unsigned starts;
	int failure; /* why there is no worker and will be none */
	struct worker_child spare;
	uint64_t spare_limit; /* bytes of memory that it may have */
};

static int start_worker(struct worker_pool *pool)
{
	if (pool->worker.socket >= 0 || pool->failure)
		return pool->failure;
	if (pool->starts++ >= STARTS_MAX)
		return -ECHILD;
	int code = helper_start(&pool->worker, WORKER_PROGRAM);
	pool->delayed = (struct delayed_process){ .pid = pool->worker.pid };
	/* What the machine lacks at the moment may be there the next time. */
	pool->failure = code == -ENOENT ? code : 0;
	return code;
}

struct worker_pool *worker_pool_new_without_worker(void)
{
	struct worker_pool *pool = calloc(1, sizeof *pool);
	if (pool)
		*pool = (struct worker_pool){ .worker = HELPER_NONE, .failure = -ENOENT, .spare = WORKER_CHILD_NONE };
	return pool;
}

struct worker_pool *worker_pool_new(struct run_delay *delay)
{
	struct worker_pool *pool = worker_pool_new_without_worker();
	if (!pool)
		return NULL;
	pool->failure = 0;
	pool->delay = delay;
	/* Ready when it is needed; why it is not will be heard then. */
	start_worker(pool);
	return pool;
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	worker_child_end(pool, &pool->spare);
	helper_stop(&pool->worker);
	free(pool);
}

static struct deadline spawn_deadline(struct worker_pool *pool)
{
	struct deadline deadline = deadline_make(pool->delay, SPAWN_TIMEOUT);
	deadline.latest = deadline.time;
	deadline.helper = &pool->delayed;
	return deadline;
}

static int ask_for_child(struct worker_pool *pool, uint64_t data_limit, int socket, struct worker_child_id *child)
{
	struct deadline deadline = spawn_deadline(pool);
	struct worker_spawn request = { .data_limit = data_limit };
	struct iovec part = { .iov_base = &request, .iov_len = sizeof request };
	struct channel_answer answer = { .type = WORKER_SPAWNED, .head = child, .head_size = sizeof *child };
	int code = channel_ask(pool->worker.socket, WORKER_SPAWN, &part, 1, socket, &answer, &deadline);
	return !code && answer.rest ? -EPROTO : code;
}

int worker_child_start(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit)
{
	struct worker_child_id id;
	int sockets[2];
	if (pool->spare.socket >= 0 && pool->spare_limit == data_limit) {
		*child = pool->spare;
		pool->spare = WORKER_CHILD_NONE;
		return 0;
	}
	*child = WORKER_CHILD_NONE;
	int code = start_worker(pool);
	if (code)
		return code;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	code = ask_for_child(pool, data_limit, sockets[1], &id);
	close(sockets[1]);
	if (code)
		helper_stop(&pool->worker);
	else if (id.pid <= 0)
		code = id.pid ? id.pid : -EPROTO;
	if (code) {
		close(sockets[0]);
		return code;
	}
	*child = (struct worker_child){ .process = { .pid = id.pid }, .socket = sockets[0] };
	return 0;
}

void worker_child_hand_on(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit)
{
	worker_child_end(pool, &pool->spare);
	pool->spare = *child;
	pool->spare_limit = data_limit;
	*child = WORKER_CHILD_NONE;
}

void worker_child_end(struct worker_pool *pool, struct worker_child *child)
{
	if (child->socket < 0)
		return;
	close(child->socket);
	struct worker_child_id id = { .pid = child->process.pid };
	struct iovec part = { .iov_base = &id, .iov_len = sizeof id };
	struct deadline deadline = spawn_deadline(pool);
	if (pool->worker.socket >= 0 && channel_send(pool->worker.socket, WORKER_KILL, &part, 1, -1, &deadline))
		helper_stop(&pool->worker);
	*child = WORKER_CHILD_NONE;
}

uint64_t worker_pool_cpu_time(const struct worker_pool *pool)
{
	return helper_cpu_time(&pool->worker);
}

const char *worker_reason(int code)
{
	switch (-code) {
	case ENOEXEC:
		return "not a sane ELF file";
	case ETIMEDOUT:
		return "takes too long to read";
	case EPIPE:
		return "its reader ended: it is damaged, changes, or needs too much memory";
	case ENOMEM:
		return "needs too much memory";
	case EFBIG:
		return "too large";
	case EDQUOT:
		return "its owner's files need too much memory together";
	case EPROTO:
	case EBADMSG:
		return "its reader sent something senseless";
	case ENOENT:
		return "iaprof-worker is not installed";
	default:
		return strerror(-code);
	}
}
