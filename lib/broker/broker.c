/* SPDX-License-Identifier: Apache-2.0 */
/* See broker.h. */
#include "broker/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/wait_budget.h"
#include "child/channel.h"
#include "child/helper.h"
#include "process/process_stat.h"

/* Number of brokers that the Linux kernel cannot end, beyond which no other one is started. */
#define LEFT_MAX 16
/* A process can have 65530 mappings (vm.max_map_count), or more if that was raised; lines have about 100 bytes. */
#define FILE_SIZE_MAX ((size_t)16 << 20)

struct broker {
	struct child child;
	bool is_ready;
	int failure; /* result of the last start */
	struct wait_budget waits;
	struct run_delay delay; /* of the thread that waits */
	pid_t left[LEFT_MAX];   /* killed, but not ended yet */
	size_t left_count;
};

/* Returns whether another broker may be started, after it has waited for those that have ended. */
static bool has_room(struct broker *broker)
{
	size_t count = 0;
	for (size_t i = 0; i < broker->left_count; i++)
		if (!waitpid(broker->left[i], NULL, WNOHANG))
			broker->left[count++] = broker->left[i];
	broker->left_count = count;
	return count < LEFT_MAX;
}

static void start(struct broker *broker)
{
	static char *const arguments[] = { BROKER_PROGRAM, NULL };
	broker->is_ready = false;
	broker->failure = helper_start(&broker->child, arguments);
}

struct broker *broker_new(void)
{
	struct broker *broker = calloc(1, sizeof *broker);
	if (!broker)
		return NULL;
	broker->child = (struct child)CHILD_NONE;
	start(broker); /* started now to be ready when needed */
	return broker;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	child_close(&broker->child);
	run_delay_release(&broker->delay);
	wait_budget_free(&broker->waits);
	free(broker);
}

/* A starting broker has not accessed other users' files yet, so its time limit is longer than theirs. */
static int wait_until_ready(struct broker *broker)
{
	struct deadline deadline = deadline_make(NULL, BROKER_TIMEOUT_START);
	struct channel_answer ready = { .type = BROKER_READY };
	int code = broker->is_ready ? 0 : channel_receive_answer(broker->child.channel, &ready, &deadline);
	broker->is_ready = !code;
	return code;
}

/* Starts the broker again if it has ended. Returns 0 or a negative errno. */
static int begin(struct broker *broker)
{
	if (broker->child.channel < 0 && broker->failure != -ENOENT && has_room(broker))
		start(broker);
	/* An error of the broker is not an error of the file. */
	return broker->child.channel < 0 ? -ENOSYS : wait_until_ready(broker);
}

/* Abandons a broker that has not answered: if the Linux kernel cannot end it, it is counted. */
static void abandon(struct broker *broker)
{
	child_kill(&broker->child, CHILD_KILL_TIME);
	pid_t left = broker->child.pid;
	if (left && broker->left_count < LEFT_MAX)
		broker->left[broker->left_count++] = left;
	child_close(&broker->child);
}

static int open_file(struct broker *broker, const struct broker_open *open, int root, const char *path,
		     struct broker_opened *opened, const struct deadline *deadline)
{
	struct iovec parts[] = { { .iov_base = (void *)open, .iov_len = sizeof *open },
				 { .iov_base = (void *)path, .iov_len = strlen(path) } };
	int descriptor = -1;
	struct channel_answer answer = {
		.type = BROKER_OPENED, .head = opened, .head_size = sizeof *opened, .descriptor = &descriptor
	};
	int code = channel_send(broker->child.channel, BROKER_OPEN, parts, 2, root, deadline);
	if (!code)
		code = channel_receive_answer(broker->child.channel, &answer, deadline);
	if (code) {
		abandon(broker);
		return code;
	}
	if (!opened->code && descriptor >= 0)
		return descriptor;
	if (descriptor >= 0)
		close(descriptor);
	return channel_error(opened->code);
}

/* The same with a limit on the time. Sets identity. */
static int request_file(struct broker *broker, const struct broker_open *open, int root, const char *path,
			const struct deadline *deadline, struct file_identity *identity)
{
	if (deadline_has_passed(deadline))
		return -ETIMEDOUT;
	int code = begin(broker);
	if (code)
		return code;
	struct deadline own = deadline_make(deadline->delay, BROKER_TIMEOUT);
	own = deadline_earlier(&own, deadline);
	own.helper = &broker->child.delayed;
	struct broker_opened opened;
	int descriptor = open_file(broker, open, root, path, &opened, &own);
	if (descriptor >= 0)
		*identity = opened.identity;
	return descriptor;
}

int broker_open(struct broker *broker, const struct file_request *request, const struct deadline *deadline,
		struct file_identity *identity)
{
	if (strlen(request->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	struct broker_open open = { .user = request->user,
				    .group = request->group,
				    .follow_links = request->follow_links,
				    .pid = request->pid,
				    .has_root = request->root >= 0 && !request->in_process,
				    .has_device = request->has_device,
				    .device_major = request->device_major,
				    .device_minor = request->device_minor,
				    .user_mounts = request->user_mounts,
				    .in_process = request->in_process,
				    .is_folder = request->is_folder,
				    .is_path = request->is_path };
	return request_file(broker, &open, open.has_root ? request->root : -1, request->path, deadline, identity);
}

int broker_open_memory(struct broker *broker, uint32_t pid, const struct deadline *deadline)
{
	struct file_identity none;
	struct broker_open open = { .user = BROKER_OWN_RIGHTS, .group = BROKER_OWN_RIGHTS, .pid = pid, .is_memory = 1 };
	return request_file(broker, &open, -1, "", deadline, &none);
}

/* A call that waits for a process, and whose time is charged to its user. */
struct waiting {
	uint32_t pid, user;
	struct deadline deadline;
};

/* Returns 0, or a negative errno if the process may not be waited for. */
static int waiting_begin(struct broker *broker, uint32_t pid, struct waiting *waiting)
{
	waiting->pid = pid;
	if (!process_user(pid, &waiting->user))
		return -ESRCH;
	if (!wait_budget_allows(&broker->waits, waiting->user, pid))
		return -EDQUOT;
	int code = begin(broker);
	if (!broker->delay.file)
		run_delay_follow(&broker->delay);
	waiting->deadline = deadline_make_with(&broker->delay, &broker->child.delayed, BROKER_READ_TIMEOUT);
	return code;
}

static void waiting_end(struct broker *broker, const struct waiting *waiting)
{
	wait_budget_charge(&broker->waits, waiting->user, waiting->pid, deadline_spent(&waiting->deadline));
}

static int open_charged(struct broker *broker, const struct file_request *request, struct file_identity *identity)
{
	struct waiting waiting;
	int code = waiting_begin(broker, request->pid, &waiting);
	if (code)
		return code;
	int descriptor = broker_open(broker, request, &waiting.deadline, identity);
	waiting_end(broker, &waiting);
	return descriptor;
}

static int open_mapping(struct broker *broker, uint32_t pid, uint64_t start, uint64_t length, bool is_path,
			struct file_identity *identity)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start, start + length);
	const struct file_request request = { .path = path,
					      .root = -1,
					      .user = BROKER_OWN_RIGHTS,
					      .group = BROKER_OWN_RIGHTS,
					      .is_path = is_path,
					      .pid = pid };
	return open_charged(broker, &request, identity);
}

int broker_open_mapped_path(struct broker *broker, uint32_t pid, uint64_t start, uint64_t length)
{
	struct file_identity identity;
	return open_mapping(broker, pid, start, length, true, &identity);
}

static int open_in_process(struct broker *broker, uint32_t pid, const char *path, bool is_folder,
			   struct file_identity *identity)
{
	const struct file_request request = { .path = path,
					      .root = -1,
					      .user = BROKER_OWN_RIGHTS,
					      .group = BROKER_OWN_RIGHTS,
					      .in_process = true,
					      .is_folder = is_folder,
					      .pid = pid };
	return path[0] == '/' ? open_charged(broker, &request, identity) : -EINVAL;
}

int broker_open_folder(struct broker *broker, uint32_t pid, const char *path)
{
	struct file_identity identity;
	return open_in_process(broker, pid, path, true, &identity);
}

int broker_open_file(struct broker *broker, const struct target_file_name *name, struct stat *status)
{
	struct file_identity identity;
	int descriptor = -ENOENT;
	if (name->length)
		descriptor = open_mapping(broker, name->pid, name->start, name->length, false, &identity);
	bool is_refused = descriptor == -EOPNOTSUPP || descriptor == -ETIMEDOUT || descriptor == -EDQUOT;
	if (descriptor < 0 && !is_refused && name->path)
		descriptor = open_in_process(broker, name->pid, name->path, false, &identity);
	if (descriptor >= 0 && fstat(descriptor, status)) {
		close(descriptor);
		return -errno;
	}
	return descriptor;
}

/* Sends a request with what follows it, and reads the answer. Returns the number of bytes or a negative errno. */
static ssize_t ask(struct broker *broker, const struct broker_read *read, const struct iovec *list, int descriptor,
		   void *bytes, const struct deadline *deadline)
{
	const struct iovec parts[] = { { .iov_base = (void *)read, .iov_len = sizeof *read },
				       list ? *list : (struct iovec){ 0 } };
	struct broker_bytes head;
	struct channel_answer answer = {
		.type = BROKER_BYTES, .head = &head, .head_size = sizeof head, .rest_max = read->size
	};
	int code = channel_send(broker->child.channel, BROKER_READ, parts, 2, descriptor, deadline);
	if (!code)
		code = channel_receive_answer(broker->child.channel, &answer, deadline);
	if (!code)
		code = channel_read(broker->child.channel, bytes, answer.rest, deadline);
	if (code) {
		abandon(broker);
		return code;
	}
	return head.code ? channel_error(head.code) : (ssize_t)answer.rest;
}

/* The same for one process. */
static ssize_t ask_process(struct broker *broker, const struct broker_read *read, const struct iovec *list,
			   int descriptor, void *bytes)
{
	struct waiting waiting;
	int code = waiting_begin(broker, read->pid, &waiting);
	if (code)
		return code;
	ssize_t size = ask(broker, read, list, descriptor, bytes, &waiting.deadline);
	waiting_end(broker, &waiting);
	return size;
}

static uint32_t size_within_limit(size_t size)
{
	return size < BROKER_BYTES_MAX ? (uint32_t)size : BROKER_BYTES_MAX;
}

ssize_t broker_read(struct broker *broker, uint32_t pid, enum broker_source file, bool is_next, void *bytes,
		    size_t size)
{
	const struct broker_read read = {
		.source = file, .pid = pid, .size = size_within_limit(size), .is_next = is_next
	};
	return ask_process(broker, &read, NULL, -1, bytes);
}

char *broker_read_all(struct broker *broker, uint32_t pid, enum broker_source file, size_t *length)
{
	CLEANUP_FREE char *text = NULL;
	size_t room = 0, size = 0, wanted = BROKER_BYTES_MAX;
	for (ssize_t count = BROKER_BYTES_MAX; count == BROKER_BYTES_MAX; size += (size_t)count) {
		if (size > FILE_SIZE_MAX || !array_grow((void **)&text, &room, size + wanted + 1, 1)) {
			errno = size > FILE_SIZE_MAX ? EFBIG : ENOMEM;
			return NULL;
		}
		count = broker_read(broker, pid, file, size > 0, text + size, wanted);
		if (count < 0) {
			errno = (int)-count;
			return NULL;
		}
	}
	text[size] = '\0';
	*length = size;
	return STEAL_POINTER(text);
}

int broker_read_memory(struct broker *broker, uint32_t pid, uint64_t address, void *bytes, size_t size)
{
	const struct broker_read read = {
		.source = BROKER_MEMORY, .pid = pid, .address = address, .size = size_within_limit(size)
	};
	ssize_t count = ask_process(broker, &read, NULL, -1, bytes);
	return count < 0 ? (int)count : (size_t)count == size ? 0 : -EFAULT;
}

ssize_t broker_read_descriptor(struct broker *broker, uint32_t pid, int descriptor, void *bytes, size_t size)
{
	const struct broker_read read = { .source = BROKER_DESCRIPTOR, .pid = pid, .size = size_within_limit(size) };
	return ask_process(broker, &read, NULL, descriptor, bytes);
}

int broker_identify(struct broker *broker, uint32_t pid, const struct broker_range *ranges, size_t count,
		    struct file_identity *identities)
{
	const struct iovec list = { .iov_base = (void *)ranges, .iov_len = count * sizeof *ranges };
	const struct broker_read read = { .source = BROKER_IDENTITIES,
					  .pid = pid,
					  .size = (uint32_t)(count * sizeof *identities) };
	ssize_t size = ask_process(broker, &read, &list, -1, identities);
	return size < 0 ? (int)size : (size_t)size == read.size ? 0 : -EPROTO;
}

/* Asks for the ranks of count processes at once, whose user is charged elsewhere. */
static bool ask_ranks(struct broker *broker, const uint32_t *pids, size_t count, struct process_rank *ranks,
		      const struct deadline *deadline)
{
	const struct iovec list = { .iov_base = (void *)pids, .iov_len = count * sizeof *pids };
	const struct broker_read read = { .source = BROKER_RANKS, .size = (uint32_t)(count * sizeof *ranks) };
	return ask(broker, &read, &list, -1, ranks, deadline) == (ssize_t)read.size;
}

static void rank_of(struct broker *broker, uint32_t pid, struct process_rank *rank)
{
	struct waiting waiting;
	int code = waiting_begin(broker, pid, &waiting);
	if (!code) {
		bool answered = ask_ranks(broker, &pid, 1, rank, &waiting.deadline);
		waiting_end(broker, &waiting);
		if (answered)
			return;
	}
	*rank = (struct process_rank){ .state = code == -ESRCH ? PROCESS_RANK_NONE : PROCESS_RANK_UNANSWERED };
}

/* Asks for all of them together, which is not charged. Returns whether they were read. */
static bool ask_together(struct broker *broker, const uint32_t *pids, size_t count, struct process_rank *ranks)
{
	struct waiting waiting;
	return !waiting_begin(broker, (uint32_t)getpid(), &waiting) &&
	       ask_ranks(broker, pids, count, ranks, &waiting.deadline);
}

void broker_ranks(struct broker *broker, const uint32_t *pids, size_t count, struct process_rank *ranks)
{
	uint32_t asked[BROKER_RANKS_MAX], user;
	size_t next = 0;
	for (size_t i = 0; i < count && next < BROKER_RANKS_MAX; i++)
		if (process_user(pids[i], &user) && wait_budget_allows(&broker->waits, user, pids[i]))
			asked[next++] = pids[i];
	bool read = next > 1 && ask_together(broker, asked, next, ranks);
	for (size_t i = count; i-- > 0;)
		if (read && next && asked[next - 1] == pids[i])
			ranks[i] = ranks[--next];
		else /* not asked, or one of all does not answer: alone, so that only its user is charged */
			rank_of(broker, pids[i], &ranks[i]);
}

uint64_t broker_cpu_time(struct broker *broker)
{
	return child_cpu_time(&broker->child);
}

const char *broker_reason(int code)
{
	switch (-code) {
	case EINVAL:
	case EISDIR:
		return "not a regular file";
	case EOPNOTSUPP:
		return "not on an ordinary file system";
	case ETIMEDOUT:
		return "its file system did not answer in time";
	case ESRCH:
		return "its process has ended";
	case ELOOP:
		return "a symbolic link";
	case EDQUOT:
		return "files or processes of its user did not answer earlier";
	case ENOSYS:
		return "iaprof-broker cannot be started";
	default:
		return strerror(-code);
	}
}
