/* SPDX-License-Identifier: Apache-2.0 */
/* See sideband.h. */
#include "process/sideband.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "process/descendants.h"
#include "process/live_processes.h"
#include "process/proc_scan.h"
#include "process/proc_reader.h"
#include "process/sideband_rings.h"
#include "process/sideband_writer.h"

#define RING_SIZE_DEFAULT 262144u
#define RING_SIZE_MAX (UINT64_C(64) << 20)

/* Shortest interval between scans of /proc after lost events. */
#define RESCAN_INTERVAL NANOSECONDS_PER_SECOND

/* Shortest interval between scans while events are stopped: a scan of 200 processes takes 20 ms. */
#define PAUSED_RESCAN_INTERVAL (60 * NANOSECONDS_PER_SECOND)

/* Interval of checks for online CPUs: reading the list takes some microseconds. */
#define FOLLOW_INTERVAL NANOSECONDS_PER_SECOND

/*
 * Maximum size of a perf record, whose size is a 16-bit number. iaprof's are shorter: a path of PATH_MAX, and a few
 * numbers.
 */
#define PERF_RECORD_SIZE_MAX 65536u
#define SIDEBAND_RECORD_SIZE_MAX 8192u

/* Number of events in full ring buffers whose users are looked up to find who caused most of them. */
#define FLOOD_EVENTS 512u
#define FLOOD_UNKNOWN UINT32_MAX

static const char lost_reason[] = "process events (perf ring full)";
static const char lost_reason_cpu[] = "process events (CPU came online)";
static const char lost_reason_paused[] = "process events (CPU budget)";

/* A record in a ring buffer, to be sorted. */
struct waiting {
	uint64_t time;
	uint64_t position;
	uint32_t ring;
	uint32_t size;
};

/* A process whose first thread has ended. */
struct ended_process {
	uint32_t pid;
	uint64_t time;
};

struct sideband {
	struct sideband_rings rings;
	uint64_t followed;    /* time of the last check for online CPUs; 0: not started */
	ARRAY(uint32_t) pids; /* sorted; empty: all processes */
	bool children;        /* descendants of pids are recorded, too: the processes in live */
	ARRAY(struct waiting) waiting;
	ARRAY(struct ended_process) ended; /* those whose end is among the events in waiting; sorted */
	/* Those that execute a program among the events in waiting, and have not ended, and their ranks; sorted. */
	ARRAY(uint32_t) begun;
	ARRAY(struct process_rank) ranks;
	struct live_processes live;
	struct user_accounts users; /* for scans of /proc */
	uint64_t scanned;           /* time of the last scan of /proc */
	uint32_t flood_user;        /* untrusted user of most events when a ring was full last; FLOOD_UNKNOWN */
	bool needs_scan;            /* events were lost since then */
	bool is_paused;
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
			      bool children, uint64_t ring_size, struct error *error)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!ring_size)
		ring_size = RING_SIZE_DEFAULT < page ? page : RING_SIZE_DEFAULT;
	if (ring_size < page || ring_size & (ring_size - 1) || ring_size > RING_SIZE_MAX) {
		error_set(error, EINVAL, "ring buffer of %llu bytes: must be a power of two between a page and 64 MiB",
			  (unsigned long long)ring_size);
		return NULL;
	}
	struct sideband *sideband = calloc(1, sizeof *sideband);
	if (!sideband) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	sideband->writer.output = *output;
	sideband->children = pid_count && children;
	sideband->flood_user = FLOOD_UNKNOWN;
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

void sideband_begin_period(struct sideband *sideband)
{
	text_budget_begin_period(&sideband->texts);
}

void sideband_free(struct sideband *sideband)
{
	if (!sideband)
		return;
	sideband_rings_close(&sideband->rings);
	array_free(&sideband->pids);
	array_free(&sideband->waiting);
	array_free(&sideband->ended);
	array_free(&sideband->begun);
	array_free(&sideband->ranks);
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

/* Reports the number of refused names and paths since a time. */
static void texts_report_refused(struct sideband *sideband, uint64_t since)
{
	const struct sideband_output *output = &sideband->writer.output;
	uint64_t refused = text_budget_refused(&sideband->texts);
	if (refused)
		output->lost(output->context, "names and paths of users who have too many", since, refused);
	text_budget_forget_users(&sideband->texts);
}

/* Lists the processes to scan: at the start those in pids, later those that still run, and their descendants. */
static int processes_list(const struct sideband *sideband, struct process_list *processes)
{
	for (size_t i = 0; !sideband->scanned && i < sideband->pids.count; i++)
		if (!array_push(processes, sideband->pids.items[i]))
			return -ENOMEM;
	for (size_t i = 0; sideband->scanned && i < sideband->live.items.count; i++)
		if (sideband->live.items.items[i].pid && !array_push(processes, sideband->live.items.items[i].pid))
			return -ENOMEM;
	return descendants_add(processes);
}

int sideband_scan(struct sideband *sideband, struct error *error)
{
	struct process_list family = { 0 };
	int result = sideband->children ? processes_list(sideband, &family) : 0;
	if (result)
		error_set(error, result, "cannot scan /proc: %s", strerror(-result));
	else if (!sideband->children)
		result = proc_scan(&sideband->writer, &sideband->live, &sideband->users, sideband->pids.items,
				   (uint32_t)sideband->pids.count, error);
	else if (family.count)
		result = proc_scan(&sideband->writer, &sideband->live, &sideband->users, family.items,
				   (uint32_t)family.count, error);
	array_free(&family);
	sideband->scanned = clock_monotonic();
	texts_report_refused(sideband, sideband->followed);
	int flushed = sideband_write_flush(&sideband->writer);
	if (!result && flushed)
		result = error_set(error, flushed, "records of processes: %s", strerror(-flushed));
	return result;
}

size_t sideband_process_count(const struct sideband *sideband)
{
	return sideband->live.items.count - sideband->live.free_items.count;
}

int sideband_descriptor(const struct sideband *sideband)
{
	return sideband->rings.epoll;
}

double sideband_fill(const struct sideband *sideband)
{
	double fill = 0;
	for (size_t i = 0; i < sideband->rings.rings.count; i++) {
		const struct sideband_ring *ring = &sideband->rings.rings.items[i];
		double used = (double)(sideband_ring_head(ring) - ring->tail) / (double)ring->size;
		fill = used > fill ? used : fill;
	}
	return fill;
}

static bool is_wanted(const struct sideband *sideband, const struct sideband_event *event)
{
	uint32_t pid = event->pid;
	/* 0 and UINT32_MAX: a task outside iaprof's PID namespace, or one that has just ended. */
	if (!pid || pid == UINT32_MAX)
		return false;
	if (sideband->children) /* a process is recorded from its fork on: a reused pid is another's */
		return live_process_find(&sideband->live, event->kind == SIDEBAND_FORK ? event->parent_pid : pid);
	return !sideband->pids.count ||
	       bsearch(&pid, sideband->pids.items, sideband->pids.count, sizeof pid, pid_compare);
}

static void process_end(struct sideband *sideband, struct live_process *process, uint64_t time)
{
	/*
	 * The process stays in /proc for a moment after the event: a scan that found it since then found the same
	 * process.
	 */
	if (time < process->scanned)
		time = process->scanned;
	if (process->renames.waits)
		sideband_write_named(&sideband->writer, time, IAPROF_PROCESS_NAME, process->pid, 0,
				     process->renames.name, process->renames.length, &process->ranked);
	sideband_write_process(&sideband->writer, time, IAPROF_PROCESS_EXIT, process->pid, 0, NULL, 0);
	live_process_remove(&sideband->live, process);
}

static int ended_compare(const void *left, const void *right)
{
	const struct ended_process *a = left, *b = right;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* Returns whether the end of a process, at or after a time, is among the events. */
static bool ends_later(const struct sideband *sideband, uint32_t pid, uint64_t time)
{
	const struct ended_process begun = { .pid = pid, .time = time };
	size_t next = array_lower_bound(sideband->ended.count, i, ended_compare(&sideband->ended.items[i], &begun) < 0);
	return next < sideband->ended.count && sideband->ended.items[next].pid == pid;
}

/* Returns the rank of a program that has just begun: none if it has ended meanwhile, because /proc lacks it. */
static struct ranked_name rank_begin(struct sideband *sideband, uint32_t pid, uint64_t time)
{
	if (ends_later(sideband, pid, time))
		return (struct ranked_name){ .state = PROCESS_RANK_NONE };
	size_t at = array_lower_bound(sideband->begun.count, i, sideband->begun.items[i] < pid);
	if (at >= sideband->ranks.count || sideband->begun.items[at] != pid)
		return (struct ranked_name){ .state = PROCESS_RANK_UNKNOWN };
	const struct process_rank *rank = &sideband->ranks.items[at];
	if (rank->state == PROCESS_RANK_UNANSWERED)
		sideband_write_unanswered(&sideband->writer, pid, time);
	return (struct ranked_name){ .state = rank->state, .rank = rank->rank };
}

/* Reads the ranks of all programs that have just begun together, which costs as much as reading one. */
static void ranks_read(struct sideband *sideband)
{
	size_t count = 0;
	sideband->ranks.count = 0;
	if (!sideband->begun.count)
		return;
	qsort(sideband->begun.items, sideband->begun.count, sizeof *sideband->begun.items, pid_compare);
	for (size_t i = 0; i < sideband->begun.count && count < BROKER_RANKS_MAX; i++) {
		uint32_t pid = sideband->begun.items[i];
		if (!ends_later(sideband, pid, 0) && (!count || sideband->begun.items[count - 1] != pid))
			sideband->begun.items[count++] = pid;
	}
	sideband->begun.count = count;
	/* Out of memory: they are read one by one. */
	if (!count || !array_extend(&sideband->ranks, count))
		return;
	broker_ranks(sideband->writer.output.broker, sideband->begun.items, count, sideband->ranks.items);
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
		process_end(sideband, process, process->last_exit); /* the pid is reused */
	process = live_process_add(&sideband->live, event->pid);
	if (!process)
		return -ENOMEM;
	process->threaded = false;
	process->ranked = rank_begin(sideband, event->pid, event->time);
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
	/* An exec ends all other threads; the calling thread takes the place of the first one if that has ended. */
	sideband->live.leaders_ended -= process->leader_ended;
	process->leader_ended = process->threaded = false;
	sideband->live.names_waiting -= process->renames.waits;
	process->renames = (struct name_throttle){ 0 };
	process->ranked = rank_begin(sideband, event->pid, event->time);
	sideband_write_named(&sideband->writer, event->time, IAPROF_PROCESS_EXEC, event->pid, 0, event->text,
			     event->text_length, &process->ranked);
	return 0;
}

static void handle_name(struct sideband *sideband, const struct sideband_event *event)
{
	struct live_process *process = live_process_find(&sideband->live, event->pid);
	if (event->pid != event->tid) /* the name of a thread, not of the process */
		return;
	bool waited = process && process->renames.waits;
	if (!process || name_throttle_take(&process->renames, event->time, event->text, event->text_length))
		sideband_write_named(&sideband->writer, event->time, IAPROF_PROCESS_NAME, event->pid, 0, event->text,
				     event->text_length, process ? &process->ranked : &(struct ranked_name){ 0 });
	if (process)
		sideband->live.names_waiting += (size_t)process->renames.waits - waited;
}

/* Reports pending names that are due. */
static void names_report(struct sideband *sideband, uint64_t now)
{
	for (size_t i = 0; sideband->live.names_waiting && i < sideband->live.items.count; i++) {
		struct live_process *process = &sideband->live.items.items[i];
		if (!name_throttle_is_due(&process->renames, now))
			continue;
		sideband->live.names_waiting--;
		sideband_write_named(&sideband->writer, now, IAPROF_PROCESS_NAME, process->pid, 0,
				     process->renames.name, process->renames.length, &process->ranked);
	}
}

static void lost_add(struct sideband *sideband, uint64_t begin, uint64_t count)
{
	char reason[sizeof lost_reason + 64];
	if (sideband->flood_user == FLOOD_UNKNOWN)
		strcpy(reason, lost_reason);
	else
		snprintf(reason, sizeof reason, "%.*s: most are of user %" PRIu32 ")", (int)sizeof lost_reason - 2,
			 lost_reason, sideband->flood_user);
	sideband->writer.output.lost(sideband->writer.output.context, reason, begin, count);
	sideband->needs_scan = true;
}

static int handle(struct sideband *sideband, struct sideband_ring *ring, const struct sideband_event *event)
{
	if (event->kind == SIDEBAND_LOST) {
		uint64_t count = sideband_ring_lost_stated(ring, event->lost);
		if (count)
			lost_add(sideband, ring->last_time, count);
		return 0;
	}
	if (event->kind == SIDEBAND_OTHER || !is_wanted(sideband, event))
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
		if (event->executable) {
			struct live_process *process = live_process_find(&sideband->live, event->pid);
			if (process)
				sideband_write_late_rank(&sideband->writer, event->time, event->pid, &process->ranked);
			sideband_write_mapping(&sideband->writer, event, 0);
		}
		return 0;
	}
}

/* Lists the records of a ring buffer up to now; newer ones wait for the next drain, when all CPUs have theirs. */
static int ring_list(struct sideband *sideband, uint32_t number, uint64_t now, uint64_t *end)
{
	struct sideband_ring *ring = &sideband->rings.rings.items[number];
	uint64_t head = sideband_ring_head(ring), position = ring->tail;
	while (position != head) {
		/* The first 8 bytes of a record, its header, never wrap around: all sizes are multiples of 8. */
		const void *header =
			sideband_ring_bytes(ring, position, sizeof(struct perf_event_header), sideband->scratch);
		struct perf_event_header record;
		memcpy(&record, header, sizeof record);
		size_t left = head - position < sizeof sideband->scratch ? (size_t)(head - position)
									 : sizeof sideband->scratch;
		const void *bytes =
			sideband_ring_bytes(ring, position, record.size < left ? record.size : left, sideband->scratch);
		size_t size = sideband_event_size(bytes, record.size < left ? record.size : left);
		if (!size) { /* not written by Linux: the start of the next record is unknown */
			lost_add(sideband, ring->last_time, IAPROF_COUNT_UNKNOWN);
			position = head;
			break;
		}
		uint64_t time = sideband_event_time(bytes, size);
		if (time > now)
			break;
		struct sideband_event event;
		if (record.type == PERF_RECORD_EXIT && sideband_event_decode(bytes, size, &event) &&
		    event.pid == event.tid &&
		    !array_push(&sideband->ended, ((struct ended_process){ event.pid, time })))
			return -ENOMEM;
		/* Of chosen processes, the few are read one by one. */
		if (record.type == PERF_RECORD_COMM && !sideband->pids.count &&
		    sideband_event_decode(bytes, size, &event) && event.kind == SIDEBAND_EXEC &&
		    !array_push(&sideband->begun, event.pid))
			return -ENOMEM;
		struct waiting waiting = { .time = time, .position = position, .ring = number, .size = (uint32_t)size };
		if (!array_push(&sideband->waiting, waiting))
			return -ENOMEM;
		position += size;
	}
	*end = position;
	return 0;
}

/* Returns whether a ring buffer had no room for the largest record, so that events may be lost. */
static bool is_full(const struct sideband_ring *ring, uint64_t end)
{
	return end - ring->tail + SIDEBAND_RECORD_SIZE_MAX > ring->size;
}

static uint32_t waiting_user(struct sideband *sideband, const struct waiting *waiting)
{
	const struct sideband_ring *ring = &sideband->rings.rings.items[waiting->ring];
	const void *bytes = sideband_ring_bytes(ring, waiting->position, waiting->size, sideband->scratch);
	return text_budget_user(&sideband->texts, sideband_event_process(bytes, waiting->size));
}

/* Finds the user of most of the bytes that wait: by a majority vote, which a sum confirms. */
static void flood_find(struct sideband *sideband)
{
	size_t step = sideband->waiting.count / FLOOD_EVENTS + 1;
	uint64_t lead = 0, sum = 0, all = 0;
	uint32_t candidate = FLOOD_UNKNOWN;
	for (size_t i = 0; i < sideband->waiting.count; i += step) {
		uint32_t user = waiting_user(sideband, &sideband->waiting.items[i]);
		uint64_t size = sideband->waiting.items[i].size;
		if (user == candidate) {
			lead += size;
		} else if (lead >= size) {
			lead -= size;
		} else {
			candidate = user;
			lead = size - lead;
		}
	}
	for (size_t i = 0; i < sideband->waiting.count; i += step) {
		uint64_t size = sideband->waiting.items[i].size;
		sum += waiting_user(sideband, &sideband->waiting.items[i]) == candidate ? size : 0;
		all += size;
	}
	bool is_flood = sum > all / 2 && !user_accounts_trust(&sideband->users, candidate);
	sideband->flood_user = is_flood ? candidate : FLOOD_UNKNOWN;
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

/*
 * Checks processes whose first thread has ended: the events of threads that existed before the run do not show whether
 * others still run.
 */
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

/* Ends a process that ended unnoticed. Returns whether it still runs. */
static bool end_check(struct sideband *sideband, struct live_process *process, uint64_t now)
{
	char text[PROC_STATUS_SIZE];
	struct proc_status status;
	int result = proc_status_read(process->pid, text, &status);
	if (proc_reading_has_ended(result, &status)) {
		process_end(sideband, process, now);
		return false;
	}
	if (result || !process->start || process->start == status.start_ticks)
		return true;
	process_end(sideband, process, process->scanned); /* its pid is that of another process */
	return false;
}

/* Finds the processes that ended or began unnoticed. */
static int rescan(struct sideband *sideband)
{
	uint64_t now = clock_monotonic();
	sideband->needs_scan = false;
	for (size_t i = 0; i < sideband->live.items.count; i++)
		if (sideband->live.items.items[i].pid)
			end_check(sideband, &sideband->live.items.items[i], now);
	return sideband_scan(sideband, NULL);
}

int sideband_rescan(struct sideband *sideband)
{
	return clock_monotonic() - sideband->scanned < PAUSED_RESCAN_INTERVAL ? 0 : rescan(sideband);
}

int sideband_rescan_process(struct sideband *sideband, uint32_t pid, uint64_t execution)
{
	struct live_process *process = live_process_find(&sideband->live, pid);
	if (process && end_check(sideband, process, clock_monotonic()) && process->has_execution) {
		if (process->execution == execution)
			return sideband_write_flush(&sideband->writer);
		process_end(sideband, process, process->scanned); /* it executes another program */
	}
	int result = proc_scan(&sideband->writer, &sideband->live, &sideband->users, &pid, 1, NULL);
	process = live_process_find(&sideband->live, pid);
	if (process) {
		process->execution = execution;
		process->has_execution = true;
	}
	int flushed = sideband_write_flush(&sideband->writer);
	return result ? result : flushed;
}

int sideband_pause(struct sideband *sideband, bool pauses)
{
	int result = sideband_drain(sideband);
	uint64_t now = clock_monotonic();
	if (pauses == sideband->is_paused || sideband->pids.count)
		return result;
	sideband->is_paused = pauses;
	if (pauses) {
		sideband_rings_stop(&sideband->rings);
		sideband->writer.output.lost(sideband->writer.output.context, lost_reason_paused, now,
					     IAPROF_COUNT_UNKNOWN);
	} else {
		result = sideband_rings_start(&sideband->rings, now, NULL);
	}
	int rescanned = rescan(sideband);
	return result ? result : rescanned;
}

bool sideband_is_system_wide(const struct sideband *sideband)
{
	return !sideband->pids.count;
}

bool sideband_is_paused(const struct sideband *sideband)
{
	return sideband->is_paused;
}

/* Scans /proc after a loss, unless the last scan is too recent. */
static int rescan_if_due(struct sideband *sideband, uint64_t now)
{
	if (!sideband->needs_scan || now - sideband->scanned < RESCAN_INTERVAL)
		return 0;
	return rescan(sideband);
}

/* Events on a CPU before it was found to be online are lost; the next scan of /proc finds their results. */
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
		sideband->needs_scan = true;
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
	sideband->waiting.count = sideband->ended.count = sideband->begun.count = 0;
	for (uint32_t i = 0; i < ring_count && !result; i++)
		result = ring_list(sideband, i, now, &ends[i]);
	if (result)
		return result;
	for (uint32_t i = 0; i < ring_count; i++)
		if (is_full(&sideband->rings.rings.items[i], ends[i])) {
			flood_find(sideband);
			break;
		}
	if (sideband->waiting.count)
		qsort(sideband->waiting.items, sideband->waiting.count, sizeof *sideband->waiting.items,
		      waiting_compare);
	if (sideband->ended.count)
		qsort(sideband->ended.items, sideband->ended.count, sizeof *sideband->ended.items, ended_compare);
	ranks_read(sideband);
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
		/* Asks for losses only if the ring buffer had no room for the largest record. */
		bool was_full = is_full(ring, ends[i]);
		sideband_ring_consume(ring, ends[i]);
		uint64_t lost = was_full ? sideband_ring_lost_silently(ring) : 0;
		if (lost)
			lost_add(sideband, ring->last_time, lost);
	}
	leaders_check(sideband);
	names_report(sideband, now);
	texts_report_refused(sideband, now);
	int flushed = sideband_write_flush(&sideband->writer);
	if (!result)
		result = flushed;
	if (!result)
		result = cpus_follow(sideband, now);
	return result ? result : rescan_if_due(sideband, now);
}
