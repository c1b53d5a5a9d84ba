/* SPDX-License-Identifier: Apache-2.0 */
/* A sink's thread and queue: see sink_queue.h. */
#include "run/sink_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/thread.h"
#include "run/instance_output.h"
#include "run/isolation/isolation.h"

/* Length of one wait for a sink, in ns. */
#define WAIT_STEP 50000000
/*
 * A burst, such as what was held back until symbols were read, may be larger than the queue. The collector waits for
 * the sink then, but no longer than this in all, ns, and a small part of the time that has passed since.
 */
#define BURST_WAIT NANOSECONDS_PER_SECOND
#define BURST_WAIT_PART 20

/* A queued block or profile; exactly one of them is set. */
struct item {
	struct item *next, *previous;
	struct item *next_profile; /* next profile that may be dropped */
	struct block *block;
	struct snapshot *snapshot;
};

struct sink_queue {
	struct instance *sink;
	size_t capacity;
	bool lossless;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item *first, *last;
	/* Profiles of intervals, which are dropped for newer ones; also in the list of all items. */
	struct item *first_profile, *last_profile;
	size_t size;          /* bytes of queued blocks */
	size_t profiles_size; /* bytes of queued profiles */
	struct sink_queue_dropped dropped;
	struct refused refused; /* dropped records that were not reported to the sink yet */
	/* String ids, interned before any record can be dropped. */
	uint32_t samples_reason, launches_reason, records_reason;
	bool is_held; /* the sink has not been started: it is not called */
	bool ending;  /* end of the input */
	int result;   /* result of the first callback that failed */
	bool done;    /* the thread no longer calls the sink */
	bool given_up;
	const char *callback; /* running callback; NULL if none */
	uint64_t calls;       /* number of callbacks that returned */
	pid_t thread_id;      /* 0: not running yet */

	/*
	 * Used only by the waiting thread: the sink's last known activity, when that was, and its thread's CPU time
	 * then.
	 */
	uint64_t activity, active_at, busy_at;
	/* The same: when the run was interrupted, and the sink's CPU time then; 0: it was not. */
	uint64_t interrupted_at, interrupted_busy;
	bool has_dropped; /* what waited */
	/* Used only by the thread that pushes: how long it may wait for room, and since when that is. */
	uint64_t burst_wait, burst_wait_at;
};

static void free_item(struct item *item)
{
	block_release(item->block);
	snapshot_release(item->snapshot);
	free(item);
}

static void count_dropped(struct sink_queue_dropped *dropped, const struct item *item)
{
	dropped->records += item->block ? item->block->count : 0;
	dropped->profiles += item->snapshot != NULL;
}

static void drop_profile(struct sink_queue *queue)
{
	queue->dropped.profiles++;
	atomic_fetch_add(&queue->sink->dropped_profiles, 1);
}

/* Returns the memory used by a queued block, including overhead of malloc(). */
static size_t block_cost(const struct block *block)
{
	return block->size + sizeof *block + sizeof(struct item) + 4 * sizeof(size_t);
}

static void note_size(struct sink_queue *queue)
{
	atomic_store(&queue->sink->activity.queued, queue->size + queue->profiles_size);
}

/* Removes an item from the lists; the caller then owns it. The lock is held. */
static void take_out(struct sink_queue *queue, struct item *item)
{
	*(item->previous ? &item->previous->next : &queue->first) = item->next;
	*(item->next ? &item->next->previous : &queue->last) = item->previous;
	if (item == queue->first_profile) {
		queue->first_profile = item->next_profile;
		if (!queue->first_profile)
			queue->last_profile = NULL;
	}
	if (item->block)
		queue->size -= block_cost(item->block);
	else
		queue->profiles_size -= item->snapshot->size;
	note_size(queue);
	pthread_cond_broadcast(&queue->changed);
}

/* Notes the end of a profile that the sink has accepted. */
static void note_profile(struct instance *sink, const struct iaprof_profile *profile)
{
	pthread_mutex_lock(&sink->lock);
	delivery_marks_add(&sink->marks, &sink->reported, profile->end);
	pthread_mutex_unlock(&sink->lock);
}

static int consume(struct instance *sink, const struct item *item)
{
	if (!item) {
		int result = instance_finish(sink, NULL);
		return result ? result : instance_outputs_check(sink);
	}
	if (item->snapshot) {
		int result = instance_profile(sink, &item->snapshot->profile);
		if (!result)
			note_profile(sink, &item->snapshot->profile);
		return result;
	}
	struct iaprof_batch batch = block_batch(item->block);
	return instance_records(sink, &batch);
}

/* Calls the sink with the lock released. item: NULL to call finish(). The lock is held on entry and return. */
static int call(struct sink_queue *queue, const struct item *item)
{
	queue->callback = !item ? "finish" : item->snapshot ? "profile" : "records";
	struct sink_activity *activity = &queue->sink->activity;
	uint64_t begin = clock_monotonic();
	atomic_store(&activity->callback, queue->callback);
	atomic_store(&activity->called_at, begin);
	pthread_mutex_unlock(&queue->lock);
	int result = consume(queue->sink, item);
	atomic_store(&activity->called_at, 0);
	atomic_fetch_add(&activity->busy, clock_monotonic() - begin);
	pthread_mutex_lock(&queue->lock);
	queue->callback = NULL;
	queue->calls++;
	return result;
}

static void *run(void *argument)
{
	struct sink_queue *queue = argument;
	pthread_mutex_lock(&queue->lock);
	queue->thread_id = gettid();
	for (;;) {
		while (!queue->result && (queue->is_held || (!queue->first && !queue->ending)))
			pthread_cond_wait(&queue->changed, &queue->lock);
		struct item *item = queue->first;
		if (!item)
			break;
		take_out(queue, item);
		int result = queue->result ? 0 : call(queue, item);
		if ((result || queue->result) && atomic_load(&queue->sink->must_end))
			count_dropped(&queue->dropped, item);
		free_item(item);
		if (!result)
			continue;
		queue->result = result;
		queue->sink->services->ended(queue->sink->services->context, queue->sink);
	}
	if (!queue->result)
		queue->result = call(queue, NULL);
	queue->done = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

struct sink_queue *sink_queue_new(struct instance *sink, size_t capacity, bool lossless, struct error *error)
{
	struct sink_queue *queue = calloc(1, sizeof *queue);
	if (!queue) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	queue->sink = sink;
	queue->capacity = capacity;
	queue->lossless = lossless;
	queue->burst_wait = BURST_WAIT;
	queue->burst_wait_at = clock_monotonic();
	if (sink->plugin->operations.records && !lossless) {
		queue->samples_reason = intern_text_id(sink->services->intern, "samples: the sink was too slow");
		queue->launches_reason = intern_text_id(sink->services->intern, "launches: the sink was too slow");
		queue->records_reason = intern_text_id(sink->services->intern, "records: the sink was too slow");
	}
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	int result = thread_start(&queue->thread, run, queue);
	if (result) {
		error_set(error, result, "sink %s: cannot start its thread: %s", sink->name, strerror(result));
		free(queue);
		return NULL;
	}
	return queue;
}

void sink_queue_hold(struct sink_queue *queue, bool hold)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_held = hold;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* Appends an item. The lock is held. */
static bool append(struct sink_queue *queue, struct block *block, struct snapshot *snapshot)
{
	struct item *item = calloc(1, sizeof *item);
	if (!item)
		return false;
	item->block = block ? block_reference(block) : NULL;
	item->snapshot = snapshot ? snapshot_reference(snapshot) : NULL;
	item->previous = queue->last;
	*(queue->last ? &queue->last->next : &queue->first) = item;
	queue->last = item;
	queue->size += block ? block_cost(block) : 0;
	queue->profiles_size += snapshot ? snapshot->size : 0;
	if (snapshot && !(snapshot->profile.flags & IAPROF_PROFILE_FINAL)) {
		*(queue->last_profile ? &queue->last_profile->next_profile : &queue->first_profile) = item;
		queue->last_profile = item;
	}
	note_size(queue);
	pthread_cond_broadcast(&queue->changed);
	return true;
}

/* Copies the records that must not be dropped; if the destination is NULL, only counts. Returns their size. */
static size_t copy_kept(const struct block *block, struct block *to)
{
	struct iaprof_batch batch = block_batch(block);
	size_t size = 0;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
		if (refused_may_be(record))
			continue;
		if (to) {
			memcpy(to->records + to->size, record, record->size);
			to->size += record->size;
			to->count++;
		}
		size += record->size;
	}
	return size;
}

/* Counts the records of a block as lost, apart from required ones if they are kept. The lock is held. */
static void note_refused(struct sink_queue *queue, const struct block *block, bool keeps)
{
	struct iaprof_batch batch = block_batch(block);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
		if (!keeps || refused_may_be(record)) {
			refused_add(&queue->refused, record);
			queue->dropped.records++;
			atomic_fetch_add(&queue->sink->activity.dropped_records, 1);
		}
}

/* Keeps the required records of a block that does not fit, and counts the others as lost. The lock is held. */
static void refuse(struct sink_queue *queue, const struct block *block)
{
	size_t size = copy_kept(block, NULL);
	/* Required records may use the same capacity again, so that memory is bounded if a sink is stuck. */
	struct block *kept = size && queue->size + size <= 2 * queue->capacity ? block_new(size) : NULL;
	if (kept) {
		copy_kept(block, kept);
		if (!append(queue, kept, NULL)) {
			block_release(kept);
			kept = NULL;
		}
	}
	note_refused(queue, block, kept);
	block_release(kept);
}

static void add_lost(struct sink_queue *queue, struct block *block, const struct refused_samples *lost, uint32_t reason)
{
	struct iaprof_record_lost *record = (void *)(block->records + block->size);
	*record = (struct iaprof_record_lost){
		.header = { .size = sizeof *record, .type = IAPROF_RECORD_LOST, .time = clock_monotonic() },
		.begin = queue->refused.begin,
		.count = lost->count,
		.value = lost->value,
		.value_type = lost->value_type,
		.reason = reason
	};
	block->size += sizeof *record;
	block->count++;
}

/* Appends LOST records for the records that the sink missed. The lock is held. */
static void append_refused(struct sink_queue *queue)
{
	const struct refused *refused = &queue->refused;
	struct block *block =
		refused->begin ? block_new((REFUSED_VALUE_TYPES_MAX + 2) * sizeof(struct iaprof_record_lost)) : NULL;
	if (!block)
		return;
	for (size_t i = 0; i < REFUSED_VALUE_TYPES_MAX && refused->samples[i].count; i++)
		add_lost(queue, block, &refused->samples[i], queue->samples_reason);
	if (refused->launches)
		add_lost(queue, block, &(struct refused_samples){ .count = refused->launches }, queue->launches_reason);
	if (refused->records)
		add_lost(queue, block, &(struct refused_samples){ .count = refused->records }, queue->records_reason);
	if (append(queue, block, NULL))
		queue->refused = (struct refused){ 0 };
	block_release(block);
}

static bool has_room(const struct sink_queue *queue, size_t size)
{
	return queue->size + size <= queue->capacity;
}

/* Waits for a sink that keeps up on the whole. The lock is held. */
static void wait_out_burst(struct sink_queue *queue, size_t size)
{
	uint64_t begin = clock_monotonic(), now = begin;
	uint64_t earned = (begin - queue->burst_wait_at) / BURST_WAIT_PART;
	uint64_t wait = queue->burst_wait + earned < BURST_WAIT ? queue->burst_wait + earned : BURST_WAIT;
	struct timespec until = { .tv_sec = (time_t)((begin + wait) / NANOSECONDS_PER_SECOND),
				  .tv_nsec = (long)((begin + wait) % NANOSECONDS_PER_SECOND) };
	while (!has_room(queue, size) && size <= queue->capacity && !queue->result && now < begin + wait) {
		(void)pthread_cond_clockwait(&queue->changed, &queue->lock, CLOCK_MONOTONIC, &until);
		now = clock_monotonic();
	}
	queue->burst_wait = now < begin + wait ? begin + wait - now : 0;
	queue->burst_wait_at = now;
}

void sink_queue_push_block(struct sink_queue *queue, struct block *block)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->lossless && queue->size && !has_room(queue, block_cost(block)) && !queue->result)
		pthread_cond_wait(&queue->changed, &queue->lock);
	if (!queue->lossless && !has_room(queue, block_cost(block)))
		wait_out_burst(queue, block_cost(block));
	bool fits = queue->lossless || has_room(queue, block_cost(block));
	if (!queue->result && fits)
		append_refused(queue);
	if (!queue->result && !(fits && append(queue, block, NULL)))
		refuse(queue, block);
	pthread_mutex_unlock(&queue->lock);
}

/* The newest profile is queued regardless of its size. */
void sink_queue_push_profile(struct sink_queue *queue, struct snapshot *snapshot)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->lossless && queue->profiles_size && queue->profiles_size + snapshot->size > queue->capacity &&
	       !queue->result)
		pthread_cond_wait(&queue->changed, &queue->lock);
	while (queue->first_profile && queue->profiles_size + snapshot->size > queue->capacity) {
		struct item *oldest = queue->first_profile;
		take_out(queue, oldest);
		free_item(oldest);
		drop_profile(queue);
	}
	if (!queue->result && !append(queue, NULL, snapshot))
		drop_profile(queue);
	pthread_mutex_unlock(&queue->lock);
}

/* Ends the input. result: if nonzero, the thread discards all queued items. */
static void close_queue(struct sink_queue *queue, int result)
{
	pthread_mutex_lock(&queue->lock);
	if (result)
		queue->result = result;
	if (!queue->ending && !queue->result)
		append_refused(queue);
	queue->ending = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

void sink_queue_close(struct sink_queue *queue)
{
	if (queue)
		close_queue(queue, 0);
}

static void free_queue(struct sink_queue *queue)
{
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

bool sink_queue_wait(struct sink_queue *queue)
{
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += WAIT_STEP;
	soon.tv_sec += soon.tv_nsec / (long)NANOSECONDS_PER_SECOND;
	soon.tv_nsec %= (long)NANOSECONDS_PER_SECOND;
	pthread_mutex_lock(&queue->lock);
	int result = 0;
	while (!queue->done && !queue->given_up && !result)
		result = pthread_cond_timedwait(&queue->changed, &queue->lock, &soon);
	bool is_over = queue->done || queue->given_up;
	pthread_mutex_unlock(&queue->lock);
	return is_over;
}

/* Returns a block with the required records of all blocks that wait; NULL: none, or out of memory. The lock is held. */
static struct block *join_kept(const struct sink_queue *queue)
{
	size_t size = 0;
	for (const struct item *item = queue->first; item; item = item->next)
		if (item->block)
			size += copy_kept(item->block, NULL);
	struct block *kept = size ? block_new(size) : NULL;
	for (const struct item *item = queue->first; kept && item; item = item->next)
		if (item->block)
			copy_kept(item->block, kept);
	return kept;
}

/* Drops the records and profiles of intervals that wait, and counts them. The lock is held. */
static void drop_waiting(struct sink_queue *queue)
{
	struct block *kept = join_kept(queue);
	struct item *waiting = queue->first, *next;
	queue->first = queue->last = queue->first_profile = queue->last_profile = NULL;
	queue->size = queue->profiles_size = 0;
	note_size(queue);
	bool keeps = kept && append(queue, kept, NULL);
	block_release(kept);
	for (struct item *item = waiting; item; item = next) {
		next = item->next;
		if (item->block)
			note_refused(queue, item->block, keeps);
		else if (!(item->snapshot->profile.flags & IAPROF_PROFILE_FINAL) ||
			 !append(queue, NULL, item->snapshot))
			drop_profile(queue);
		free_item(item);
	}
	if (!queue->lossless)
		append_refused(queue);
	queue->has_dropped = true;
}

/* Returns the CPU time of the sink, ns. The lock is held. */
static uint64_t busy_time(const struct sink_queue *queue)
{
	if (queue->sink->isolation)
		return isolation_cost(queue->sink->isolation);
	return queue->thread_id ? thread_busy_time(queue->thread_id) : 0;
}

/* Returns whether a sink has been too long without anything but computing. */
static bool is_over(uint64_t elapsed, uint64_t computed, uint64_t patience)
{
	return elapsed >= SINK_QUEUE_COMPUTING * patience || elapsed >= patience + computed;
}

/* Returns whether the sink is stuck. The lock is held. */
static bool check_activity(struct sink_queue *queue, uint64_t now, uint64_t busy, uint64_t patience)
{
	uint64_t activity = queue->calls + atomic_load(&queue->sink->output.activity);
	if (!queue->active_at || activity != queue->activity) {
		queue->activity = activity;
		queue->active_at = now;
		queue->busy_at = busy;
	}
	return is_over(now - queue->active_at, busy - queue->busy_at, patience);
}

/* Returns whether the time of an interrupted run is over. The lock is held. */
static bool check_interrupted(struct sink_queue *queue, uint64_t now, uint64_t busy, uint64_t patience)
{
	if (!queue->interrupted_at) {
		queue->interrupted_at = now;
		queue->interrupted_busy = busy;
	}
	uint64_t elapsed = now - queue->interrupted_at;
	/* The time of a process that has ended is not known. */
	uint64_t computed = busy > queue->interrupted_busy ? busy - queue->interrupted_busy : 0;
	if (is_over(elapsed, computed, patience / SINK_QUEUE_DROP_PART) && !queue->has_dropped && !queue->result)
		drop_waiting(queue);
	return is_over(elapsed, computed, patience);
}

void sink_queue_check(struct sink_queue *queue, uint64_t patience, bool is_interrupted)
{
	uint64_t now = clock_monotonic();
	struct instance *sink = queue->sink;
	pthread_mutex_lock(&queue->lock);
	uint64_t busy = busy_time(queue);
	/* One that is stuck in a process of its own is noticed where it is called. */
	bool is_stuck = !sink->isolation && check_activity(queue, now, busy, patience);
	if (is_interrupted && !queue->done)
		is_stuck |= check_interrupted(queue, now, busy, patience);
	if (sink->isolation)
		atomic_store(&sink->must_end, is_stuck);
	else
		queue->given_up |= is_stuck && !queue->done && queue->callback;
	pthread_mutex_unlock(&queue->lock);
}

/* Counts the items that a stuck sink did not process: those in the queue and the one that its callback received. */
static void count_waiting(struct sink_queue *queue, struct sink_queue_dropped *dropped)
{
	pthread_mutex_lock(&queue->lock);
	*dropped = queue->dropped;
	dropped->callback = queue->callback;
	dropped->profiles += queue->callback && !strcmp(queue->callback, "profile");
	for (const struct item *item = queue->first; item; item = item->next)
		count_dropped(dropped, item);
	pthread_mutex_unlock(&queue->lock);
}

int sink_queue_finish(struct sink_queue *queue, struct sink_queue_dropped *dropped)
{
	if (!queue)
		return 0;
	close_queue(queue, 0);
	if (queue->given_up) {
		count_waiting(queue, dropped);
		return -ETIMEDOUT;
	}
	pthread_join(queue->thread, NULL);
	int result = queue->result;
	*dropped = queue->dropped;
	free_queue(queue);
	return result;
}

void sink_queue_abandon(struct sink_queue *queue)
{
	if (!queue)
		return;
	close_queue(queue, -ECANCELED);
	pthread_join(queue->thread, NULL);
	free_queue(queue);
}
