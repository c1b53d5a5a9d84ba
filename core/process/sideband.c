/* SPDX-License-Identifier: Apache-2.0 */
/* The live feed of the process table: see sideband.h. */
#include "process/sideband.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/live_processes.h"
#include "process/proc_scan.h"
#include "process/proc_text.h"
#include "process/sideband_rings.h"
#include "process/sideband_writer.h"

#define RING_SIZE_DEFAULT 262144u
#define RING_SIZE_MAX (UINT64_C(64) << 20)

/* How often at most /proc is looked through again because events were lost. */
#define LOOK_AGAIN_INTERVAL NANOSECONDS_PER_SECOND

/* How often it is looked which CPUs are online: reading the list takes some microseconds. */
#define FOLLOW_INTERVAL NANOSECONDS_PER_SECOND

/* The largest perf record: its size is a 16-bit number. Ours are shorter: a path of PATH_MAX, and some numbers. */
#define PERF_RECORD_SIZE_MAX 65536u
#define SIDEBAND_RECORD_SIZE_MAX 8192u

static const char lost_reason[] = "process events (perf ring full)";
static const char lost_reason_cpu[] = "process events (CPU came online)";

/* A record that waits in a ring, to be sorted. */
struct waiting {
	uint64_t time;
	uint64_t position;
	uint32_t ring;
	uint32_t size;
};

struct sideband {
	struct sideband_rings rings;
	uint64_t followed;    /* when it was looked last which CPUs are online; 0: not started */
	ARRAY(uint32_t) pids; /* sorted; none: all */
	ARRAY(struct waiting) waiting;
	struct live_processes live;
	struct user_accounts users; /* of looks through /proc */
	uint64_t looked;            /* when /proc was looked through last */
	bool look_again;            /* something was lost since then */
	unsigned char scratch[PERF_RECORD_SIZE_MAX];
	struct sideband_writer writer;
	struct text_budget texts;
};

static int pid_compare(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

struct sideband *sideband_new(const struct sideband_output *output, const uint32_t *pids, uint32_t pid_count,
			      uint64_t ring_size, struct error *error)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!ring_size)
		ring_size = RING_SIZE_DEFAULT < page ? page : RING_SIZE_DEFAULT;
	if (ring_size < page || ring_size & (ring_size - 1) || ring_size > RING_SIZE_MAX) {
		error_set(error, EINVAL, "a ring of %llu bytes: must be a power of two, from a page to 64 MiB",
			  (unsigned long long)ring_size);
		return NULL;
	}
	struct sideband *sideband = calloc(1, sizeof *sideband);
	if (!sideband) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	sideband->writer.output = *output;
	user_accounts_init(&sideband->users);
	text_budget_init(&sideband->texts);
	sideband->writer.texts = &sideband->texts;
	for (uint32_t i = 0; i < pid_count; i++)
		if (!array_push(&sideband->pids, pids[i])) {
			error_set(error, ENOMEM, "out of memory");
			goto fail;
		}
	if (pid_count)
		qsort(sideband->pids.items, pid_count, sizeof *pids, pid_compare);
	if (sideband_rings_open(&sideband->rings, ring_size, error))
		goto fail;
	return sideband;

fail:
	sideband_free(sideband);
	return NULL;
}

void sideband_free(struct sideband *sideband)
{
	if (!sideband)
		return;
	sideband_rings_close(&sideband->rings);
	array_free(&sideband->pids);
	array_free(&sideband->waiting);
	live_processes_free(&sideband->live);
	user_accounts_free(&sideband->users);
	text_budget_free(&sideband->texts);
	free(sideband);
}

int sideband_start(struct sideband *sideband, struct error *error)
{
	sideband->followed = clock_monotonic();
	return sideband_rings_start(&sideband->rings, sideband->followed, error);
}

/* Says how many names and paths were refused, since a time. */
static void texts_tell(struct sideband *sideband, uint64_t since)
{
	const struct sideband_output *output = &sideband->writer.output;
	uint64_t refused = text_budget_refused(&sideband->texts);
	if (refused)
		output->lost(output->context, "names and paths of users who have too many", since, refused);
	text_budget_forget_users(&sideband->texts);
}

int sideband_scan(struct sideband *sideband, struct error *error)
{
	int result = proc_scan(&sideband->writer, &sideband->live, &sideband->users, sideband->pids.items,
			       (uint32_t)sideband->pids.count, error);
	sideband->looked = clock_monotonic();
	texts_tell(sideband, sideband->followed);
	int flushed = sideband_write_flush(&sideband->writer);
	if (!result && flushed)
		result = error_set(error, flushed, "records of processes: %s", strerror(-flushed));
	return result;
}

int sideband_descriptor(const struct sideband *sideband)
{
	return sideband->rings.epoll;
}

static bool is_wanted(const struct sideband *sideband, uint32_t pid)
{
	/* 0 and UINT32_MAX: a task that is outside our PID namespace, or just gone. */
	if (!pid || pid == UINT32_MAX)
		return false;
	return !sideband->pids.count ||
	       bsearch(&pid, sideband->pids.items, sideband->pids.count, sizeof pid, pid_compare);
}

static void process_end(struct sideband *sideband, struct live_process *process, uint64_t time)
{
	/* It is still in /proc for a moment after the event: what was found there then is of this process as well. */
	if (time < process->looked)
		time = process->looked;
	if (process->renames.waits)
		sideband_write_process(&sideband->writer, time, IAPROF_PROCESS_NAME, process->pid, 0,
				       process->renames.name, process->renames.length);
	sideband_write_process(&sideband->writer, time, IAPROF_PROCESS_EXIT, process->pid, 0, NULL, 0);
	live_process_remove(&sideband->live, process);
}

static int handle_fork(struct sideband *sideband, const struct sideband_event *event)
{
	struct live_process *process = live_process_find(&sideband->live, event->pid);
	if (event->pid == event->parent_pid) {
		if (process)
			process->threaded = true;
		return 0;
	}
	if (process && process->leader_ended)
		process_end(sideband, process, process->last_exit); /* the pid is in use again */
	process = live_process_add(&sideband->live, event->pid);
	if (!process)
		return -ENOMEM;
	process->threaded = false;
	sideband_write_process(&sideband->writer, event->time, IAPROF_PROCESS_FORK, event->pid, event->parent_pid, NULL,
			       0);
	return 0;
}

static void handle_exit(struct sideband *sideband, const struct sideband_event *event)
{
	struct live_process *process = live_process_find(&sideband->live, event->pid);
	if (!process) {
		if (event->pid == event->tid)
			sideband_write_process(&sideband->writer, event->time, IAPROF_PROCESS_EXIT, event->pid, 0, NULL,
					       0);
	} else if (!process->threaded) {
		if (event->pid == event->tid)
			process_end(sideband, process, event->time);
	} else {
		if (event->pid == event->tid && !process->leader_ended) {
			process->leader_ended = true;
			sideband->live.leaders_ended++;
		}
		process->last_exit = event->time;
	}
}

static int handle_exec(struct sideband *sideband, const struct sideband_event *event)
{
	struct live_process *process = live_process_add(&sideband->live, event->pid);
	if (!process)
		return -ENOMEM;
	/* An exec ends all other threads; the one that called it takes the place of the first one, if that ended. */
	sideband->live.leaders_ended -= process->leader_ended;
	process->leader_ended = process->threaded = false;
	sideband->live.names_waiting -= process->renames.waits;
	process->renames = (struct renames){ 0 };
	sideband_write_process(&sideband->writer, event->time, IAPROF_PROCESS_EXEC, event->pid, 0, event->text,
			       event->text_length);
	return 0;
}

static void handle_name(struct sideband *sideband, const struct sideband_event *event)
{
	struct live_process *process = live_process_find(&sideband->live, event->pid);
	if (event->pid != event->tid) /* the name of a thread */
		return;
	bool waited = process && process->renames.waits;
	if (!process || renames_take(&process->renames, event->time, event->text, event->text_length))
		sideband_write_process(&sideband->writer, event->time, IAPROF_PROCESS_NAME, event->pid, 0, event->text,
				       event->text_length);
	if (process)
		sideband->live.names_waiting += (size_t)process->renames.waits - waited;
}

/* Names that waited, and are those of their processes now. */
static void names_tell(struct sideband *sideband, uint64_t now)
{
	for (size_t i = 0; sideband->live.names_waiting && i < sideband->live.items.count; i++) {
		struct live_process *process = &sideband->live.items.items[i];
		if (!renames_are_due(&process->renames, now))
			continue;
		sideband->live.names_waiting--;
		sideband_write_process(&sideband->writer, now, IAPROF_PROCESS_NAME, process->pid, 0,
				       process->renames.name, process->renames.length);
	}
}

static void lost_add(struct sideband *sideband, uint64_t begin, uint64_t count)
{
	sideband->writer.output.lost(sideband->writer.output.context, lost_reason, begin, count);
	sideband->look_again = true;
}

static int handle(struct sideband *sideband, struct sideband_ring *ring, const struct sideband_event *event)
{
	if (event->kind == SIDEBAND_LOST) {
		uint64_t count = sideband_ring_lost_stated(ring, event->lost);
		if (count)
			lost_add(sideband, ring->last_time, count);
		return 0;
	}
	if (event->kind == SIDEBAND_OTHER || !is_wanted(sideband, event->pid))
		return 0;
	switch (event->kind) {
	case SIDEBAND_FORK:
		return handle_fork(sideband, event);
	case SIDEBAND_EXIT:
		handle_exit(sideband, event);
		return 0;
	case SIDEBAND_EXEC:
		return handle_exec(sideband, event);
	case SIDEBAND_NAME:
		handle_name(sideband, event);
		return 0;
	default:
		if (event->executable)
			sideband_write_mapping(&sideband->writer, event, 0);
		return 0;
	}
}

/* Lists a ring's records up to now; newer ones wait for the next drain, when all rings have theirs. */
static int ring_list(struct sideband *sideband, uint32_t number, uint64_t now, uint64_t *end)
{
	struct sideband_ring *ring = &sideband->rings.rings.items[number];
	uint64_t head = sideband_ring_head(ring), position = ring->tail;
	while (position != head) {
		/* A record's first 8 bytes, its header, never go around the end: all sizes are multiples of 8. */
		const void *header =
			sideband_ring_bytes(ring, position, sizeof(struct perf_event_header), sideband->scratch);
		struct perf_event_header record;
		memcpy(&record, header, sizeof record);
		size_t left = head - position < sizeof sideband->scratch ? (size_t)(head - position)
									 : sizeof sideband->scratch;
		const void *bytes =
			sideband_ring_bytes(ring, position, record.size < left ? record.size : left, sideband->scratch);
		size_t size = sideband_event_size(bytes, record.size < left ? record.size : left);
		if (!size) { /* not what the kernel writes: where the next record starts cannot be told */
			lost_add(sideband, ring->last_time, IAPROF_COUNT_UNKNOWN);
			position = head;
			break;
		}
		uint64_t time = sideband_event_time(bytes, size);
		if (time > now)
			break;
		struct waiting waiting = { .time = time, .position = position, .ring = number, .size = (uint32_t)size };
		if (!array_push(&sideband->waiting, waiting))
			return -ENOMEM;
		position += size;
	}
	*end = position;
	return 0;
}

static int waiting_compare(const void *left, const void *right)
{
	const struct waiting *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->position < b->position ? -1 : 1;
}

/* Those whose first thread ended, and maybe the others: the events of threads that were there before us do not tell. */
static void leaders_check(struct sideband *sideband)
{
	if (!sideband->live.leaders_ended)
		return;
	for (size_t i = 0; i < sideband->live.items.count; i++) {
		struct live_process *process = &sideband->live.items.items[i];
		if (process->leader_ended && proc_has_ended(process->pid))
			process_end(sideband, process, process->last_exit);
	}
}

/* After a loss: what ended unseen, and what came unseen. */
static int look_again(struct sideband *sideband, uint64_t now)
{
	if (!sideband->look_again || now - sideband->looked < LOOK_AGAIN_INTERVAL)
		return 0;
	sideband->look_again = false;
	for (size_t i = 0; i < sideband->live.items.count; i++) {
		struct live_process *process = &sideband->live.items.items[i];
		if (process->pid && proc_has_ended(process->pid))
			process_end(sideband, process, now);
	}
	return sideband_scan(sideband, NULL);
}

/* What happened on a CPU before it was seen to be online is lost, and looked for in /proc. */
static int cpus_follow(struct sideband *sideband, uint64_t now)
{
	uint64_t before = sideband->followed;
	size_t came;

	if (!before || now - before < FOLLOW_INTERVAL)
		return 0;
	sideband->followed = now;
	int result = sideband_rings_follow(&sideband->rings, now, &came, NULL);
	if (came) {
		sideband->writer.output.lost(sideband->writer.output.context, lost_reason_cpu, before,
					     IAPROF_COUNT_UNKNOWN);
		sideband->look_again = true;
	}
	return result;
}

int sideband_drain(struct sideband *sideband)
{
	uint64_t now = clock_monotonic();
	size_t ring_count = sideband->rings.rings.count;
	CLEANUP_FREE uint64_t *ends = calloc(ring_count + 1, sizeof *ends);
	int result = ends ? 0 : -ENOMEM;

	sideband_rings_remove_hangups(&sideband->rings);
	sideband->waiting.count = 0;
	for (uint32_t i = 0; i < ring_count && !result; i++)
		result = ring_list(sideband, i, now, &ends[i]);
	if (result)
		return result;
	if (sideband->waiting.count)
		qsort(sideband->waiting.items, sideband->waiting.count, sizeof *sideband->waiting.items,
		      waiting_compare);
	for (size_t i = 0; i < sideband->waiting.count && !result; i++) {
		const struct waiting *waiting = &sideband->waiting.items[i];
		struct sideband_ring *ring = &sideband->rings.rings.items[waiting->ring];
		struct sideband_event event;
		const void *bytes = sideband_ring_bytes(ring, waiting->position, waiting->size, sideband->scratch);
		if (sideband_event_decode(bytes, waiting->size, &event))
			result = handle(sideband, ring, &event);
		ring->last_time = waiting->time;
	}
	for (size_t i = 0; i < ring_count; i++) {
		struct sideband_ring *ring = &sideband->rings.rings.items[i];
		/* Whether something was lost is asked only after a ring that had no room for the largest record. */
		bool was_full = ends[i] - ring->tail + SIDEBAND_RECORD_SIZE_MAX > ring->size;
		sideband_ring_consume(ring, ends[i]);
		uint64_t lost = was_full ? sideband_ring_lost_silently(ring) : 0;
		if (lost)
			lost_add(sideband, ring->last_time, lost);
	}
	leaders_check(sideband);
	names_tell(sideband, now);
	texts_tell(sideband, now);
	int flushed = sideband_write_flush(&sideband->writer);
	if (!result)
		result = flushed;
	if (!result)
		result = cpus_follow(sideband, now);
	return result ? result : look_again(sideband, now);
}
