/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_feed.h. */
#include "symbolizer/unwind/unwind_feed.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/priority.h"
#include "symbolizer/unwind/unwind_processes.h"

/* Limit on waiting requests and records: 10 MiB. */
#define REQUESTS_MAX 65536u
/* Records after which the thread is woken anyway: those of a scan of /proc come in one go. */
#define RECORDS_TOGETHER 256u
/* Limit on bytes of tables that wait to be delivered. The thread blocks when it is reached. */
#define WAITING_MAX ((uint64_t)256 << 20)
/* Minimum time between requests for one process, in ns. */
#define ASK_AGAIN_AFTER (NANOSECONDS_PER_SECOND / 100)
/* Limit on processes whose last request is remembered. */
#define ASKED_MAX 65536u
/* Minimum time between updates of the cost. */
#define COST_PERIOD NANOSECONDS_PER_SECOND
/* Maximum time between updates while files are being read, and while something else has to be done later, in ms. */
#define TICK 200
#define TICK_SLOW 1000

enum wish { WISH_REQUEST, WISH_PREPARE, WISH_TAKE };

struct request {
	enum wish wish;
	uint32_t pid;
	uint64_t execution;
	union {
		struct iaprof_record header;
		struct iaprof_record_process process;
		struct iaprof_record_mapping mapping;
	} record;
	const char *text;
};
typedef ARRAY(struct request) request_array;

/* A table or a process to be delivered. */
struct result {
	struct unwind_table table;
	uint32_t id; /* of the table; 0: a process */
	uint32_t pid;
	uint64_t execution;
	unwind_mapping_array mappings;
};

struct asked_process {
	uint32_t key; /* pid */
	uint64_t execution, time;
};

struct unwind_feed {
	int ready; /* eventfd: there are results */
	int wake;  /* eventfd: there are requests */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* protects the following members */
	pthread_cond_t delivered;
	bool is_ending, is_idle;
	bool is_woken; /* wake is readable */
	request_array requests;
	ARRAY(struct result) results;
	uint64_t waiting; /* bytes of tables in results */

	/* The loop thread owns the following members. */
	KEYED_ARRAY(struct asked_process) asked;
	uint64_t dropped;

	atomic_bool saves;
	uint64_t cost_time;                /* when the cost was updated */
	atomic_uint_least64_t cost;        /* CPU time of broker and worker, ns */
	atomic_uint_least64_t thread_cost; /* CPU time of its thread, ns */
	/* The feed's thread owns the following members. */
	struct unwind_files files;
	struct unwind_processes processes;
};

static void signal_event(int descriptor)
{
	static const uint64_t one = 1;
	(void)!write(descriptor, &one, sizeof one); /* fails only if the descriptor is readable already */
}

static void clear_event(int descriptor)
{
	uint64_t ignored;
	(void)!read(descriptor, &ignored, sizeof ignored);
}

static void free_result(struct result *result)
{
	unwind_table_free(&result->table);
	array_free(&result->mappings);
}

/* Functions of the feed's thread. */

/* Takes ownership of the contents of the result. */
static void push_result(struct unwind_feed *feed, struct result *result)
{
	uint64_t bytes = unwind_table_bytes(&result->table);
	pthread_mutex_lock(&feed->lock);
	while (feed->waiting && feed->waiting + bytes > WAITING_MAX && !feed->is_ending)
		pthread_cond_wait(&feed->delivered, &feed->lock);
	bool is_kept = array_push(&feed->results, *result);
	bool is_first = is_kept && feed->results.count == 1;
	feed->waiting += is_kept ? bytes : 0;
	pthread_mutex_unlock(&feed->lock);
	if (is_first)
		signal_event(feed->ready);
	if (!is_kept)
		free_result(result);
}

static void push_table(void *context, uint32_t id, struct unwind_table *table)
{
	push_result(context, &(struct result){ .table = *table, .id = id });
}

static void push_process(void *context, uint32_t pid, uint64_t execution, unwind_mapping_array *mappings)
{
	push_result(context, &(struct result){ .pid = pid, .execution = execution, .mappings = *mappings });
}

static void serve(struct unwind_feed *feed, const struct request *request)
{
	if (request->wish == WISH_TAKE)
		unwind_processes_take(&feed->processes, &request->record.header, request->text);
	else if (request->wish == WISH_PREPARE)
		unwind_processes_prepare(&feed->processes, request->pid);
	else
		unwind_processes_request(&feed->processes, request->pid, request->execution);
}

/* Takes all requests. Returns false at the end. */
static bool take_requests(struct unwind_feed *feed, request_array *requests)
{
	pthread_mutex_lock(&feed->lock);
	*requests = feed->requests;
	feed->requests = (request_array){ 0 };
	feed->is_woken = false;
	bool is_ending = feed->is_ending;
	pthread_mutex_unlock(&feed->lock);
	return !is_ending;
}

/* Waits for requests, or for files that are being read. */
static void wait_for_work(struct unwind_feed *feed)
{
	struct pollfd polled[1 + UNWIND_READS_MAX] = { { .fd = feed->wake, .events = POLLIN } };
	bool is_reading = unwind_files_read(&feed->files);
	size_t count = 1 + unwind_files_poll(&feed->files, polled + 1);
	pthread_mutex_lock(&feed->lock);
	feed->is_idle = !is_reading && !feed->requests.count;
	pthread_cond_broadcast(&feed->delivered);
	pthread_mutex_unlock(&feed->lock);
	bool is_urgent = is_reading || feed->processes.is_pending;
	bool is_waiting = feed->processes.is_ending || worker_pool_has_spare(feed->files.pool);
	if (poll(polled, count, is_urgent ? TICK : is_waiting ? TICK_SLOW : -1) > 0 && polled[0].revents)
		clear_event(feed->wake);
}

/* The cost is read from several files of /proc. What the last requests cost is added by the next ones, or at the end.
 */
static void update_cost(struct unwind_feed *feed)
{
	uint64_t now = clock_monotonic();
	atomic_store(&feed->thread_cost, clock_read(CLOCK_THREAD_CPUTIME_ID));
	if (now - feed->cost_time < COST_PERIOD)
		return;
	feed->cost_time = now;
	atomic_store(&feed->cost, unwind_files_cost(&feed->files));
}

static void *work(void *pointer)
{
	struct unwind_feed *feed = pointer;
	request_array requests;
	priority_raise_thread();
	while (take_requests(feed, &requests)) {
		for (size_t i = 0; i < requests.count && !budget_is_over(&feed->files.budget); i++)
			serve(feed, &requests.items[i]);
		array_free(&requests);
		feed->files.saves = atomic_load(&feed->saves);
		unwind_files_finish(&feed->files);
		unwind_processes_update(&feed->processes);
		update_cost(feed);
		wait_for_work(feed);
	}
	array_free(&requests);
	atomic_store(&feed->cost, unwind_files_cost(&feed->files));
	return NULL;
}

/* Functions of the loop thread. */

struct unwind_feed *unwind_feed_new(void)
{
	struct unwind_feed *feed = calloc(1, sizeof *feed);
	if (!feed)
		return NULL;
	pthread_mutex_init(&feed->lock, NULL);
	pthread_cond_init(&feed->delivered, NULL);
	feed->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	feed->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	feed->files.deliver = push_table;
	feed->processes.deliver = push_process;
	feed->files.context = feed->processes.context = feed;
	feed->processes.files = &feed->files;
	int code = feed->ready < 0 || feed->wake < 0 ? errno : 0;
	if (unwind_files_init(&feed->files) || unwind_processes_init(&feed->processes))
		code = ENOMEM;
	if (!code)
		code = pthread_create(&feed->thread, NULL, work, feed);
	feed->has_thread = !code;
	if (!code)
		return feed;
	unwind_feed_free(feed);
	errno = code;
	return NULL;
}

void unwind_feed_end(struct unwind_feed *feed)
{
	if (!feed->has_thread)
		return;
	budget_end_by(&feed->files.budget, clock_monotonic());
	pthread_mutex_lock(&feed->lock);
	feed->is_ending = true;
	pthread_cond_broadcast(&feed->delivered);
	pthread_mutex_unlock(&feed->lock);
	signal_event(feed->wake);
	pthread_join(feed->thread, NULL);
	feed->has_thread = false;
}

void unwind_feed_free(struct unwind_feed *feed)
{
	if (!feed)
		return;
	unwind_feed_end(feed);
	for (size_t i = 0; i < feed->results.count; i++)
		free_result(&feed->results.items[i]);
	array_free(&feed->results);
	array_free(&feed->requests);
	keyed_array_free(&feed->asked);
	unwind_processes_free(&feed->processes);
	unwind_files_free(&feed->files);
	if (feed->ready >= 0)
		close(feed->ready);
	if (feed->wake >= 0)
		close(feed->wake);
	pthread_cond_destroy(&feed->delivered);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}

int unwind_feed_descriptor(const struct unwind_feed *feed)
{
	return feed->ready;
}

/* Wakes the thread, unless it was and did not take the requests yet. */
static void wake(struct unwind_feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	bool is_woken = feed->is_woken;
	feed->is_woken = true;
	pthread_mutex_unlock(&feed->lock);
	if (!is_woken)
		signal_event(feed->wake);
}

static void push_request(struct unwind_feed *feed, const struct request *request)
{
	if (!feed->has_thread)
		return;
	pthread_mutex_lock(&feed->lock);
	bool is_kept = feed->requests.count < REQUESTS_MAX && array_push(&feed->requests, *request);
	bool is_due = request->wish != WISH_TAKE || feed->requests.count % RECORDS_TOGETHER == 0;
	feed->is_idle = false;
	pthread_mutex_unlock(&feed->lock);
	feed->dropped += !is_kept;
	if (is_due)
		wake(feed);
}

bool unwind_feed_is_new(struct unwind_feed *feed, uint32_t pid, uint64_t execution)
{
	const struct asked_process *asked = keyed_array_get(&feed->asked, &pid);
	return !asked || asked->execution != execution || clock_monotonic() - asked->time >= ASK_AGAIN_AFTER;
}

void unwind_feed_request(struct unwind_feed *feed, uint32_t pid, uint64_t execution)
{
	if (feed->asked.count >= ASKED_MAX)
		keyed_array_free(&feed->asked);
	uint32_t position = keyed_array_add(&feed->asked, &(struct asked_process){ .key = pid });
	if (position != POSITION_NONE)
		feed->asked.items[position] = (struct asked_process){ pid, execution, clock_monotonic() };
	push_request(feed, &(struct request){ .wish = WISH_REQUEST, .pid = pid, .execution = execution });
}

void unwind_feed_save(struct unwind_feed *feed, bool saves)
{
	atomic_store(&feed->saves, saves);
}

void unwind_feed_prepare(struct unwind_feed *feed, uint32_t pid)
{
	push_request(feed, &(struct request){ .wish = WISH_PREPARE, .pid = pid });
}

void unwind_feed_take(struct unwind_feed *feed, const struct iaprof_record *record, const char *text)
{
	struct request request = { .wish = WISH_TAKE, .text = text };
	if (record->type == IAPROF_RECORD_PROCESS)
		request.record.process = *(const struct iaprof_record_process *)record;
	else if (record->type == IAPROF_RECORD_MAPPING)
		request.record.mapping = *(const struct iaprof_record_mapping *)record;
	else
		return;
	push_request(feed, &request);
}

void unwind_feed_wake(struct unwind_feed *feed)
{
	wake(feed);
}

static void deliver(const struct result *result, unwind_feed_callback *callback, void *context)
{
	static const uint32_t no_rows;
	const struct unwind_table *table = &result->table;
	uint32_t pages = table->index.count ? (uint32_t)table->index.count - 1 : 0;
	if (result->id) {
		struct iaprof_unwind_table made = { .size = sizeof made,
						    .id = result->id,
						    .first_page = table->first_page,
						    .page_count = pages,
						    .row_count = (uint32_t)table->rows.count,
						    .rule_count = (uint32_t)table->rules.count,
						    .index = pages ? table->index.items : &no_rows,
						    .rows = table->rows.items,
						    .rules = table->rules.items,
						    .python = table->python.version || table->python.flags
								      ? &table->python
								      : NULL,
						    .thread_context = &table->thread_context };
		callback(context, &made, NULL);
		return;
	}
	struct iaprof_unwind_process process = { .size = sizeof process,
						 .pid = result->pid,
						 .execution = result->execution,
						 .mappings = result->mappings.items,
						 .mapping_count = (uint32_t)result->mappings.count };
	callback(context, NULL, &process);
}

void unwind_feed_deliver(struct unwind_feed *feed, unwind_feed_callback *callback, void *context)
{
	ARRAY(struct result) results;
	clear_event(feed->ready);
	pthread_mutex_lock(&feed->lock);
	memcpy(&results, &feed->results, sizeof results);
	memset(&feed->results, 0, sizeof feed->results);
	feed->waiting = 0;
	pthread_cond_broadcast(&feed->delivered);
	pthread_mutex_unlock(&feed->lock);
	for (size_t i = 0; i < results.count; i++) {
		deliver(&results.items[i], callback, context);
		free_result(&results.items[i]);
	}
	array_free(&results);
}

bool unwind_feed_wait(struct unwind_feed *feed, uint64_t end, unwind_feed_callback *callback, void *context)
{
	unwind_feed_wake(feed);
	for (bool is_idle = false; !is_idle;) {
		struct pollfd polled = { .fd = feed->ready, .events = POLLIN };
		if (clock_monotonic() >= end)
			return false;
		poll(&polled, 1, 1);
		unwind_feed_deliver(feed, callback, context);
		pthread_mutex_lock(&feed->lock);
		is_idle = feed->is_idle && !feed->results.count;
		pthread_mutex_unlock(&feed->lock);
	}
	return true;
}

uint64_t unwind_feed_cost(const struct unwind_feed *feed)
{
	return feed ? atomic_load(&feed->cost) : 0;
}

uint64_t unwind_feed_thread_cost(const struct unwind_feed *feed)
{
	return feed ? atomic_load(&feed->thread_cost) : 0;
}

struct unwind_feed_summary unwind_feed_summarize(const struct unwind_feed *feed)
{
	const struct unwind_files *files = &feed->files;
	return (struct unwind_feed_summary){ .refusals = files->budget.refusals.items,
					     .refusal_count = files->budget.refusals.count,
					     .refused_more = files->budget.refused_more,
					     .users = &feed->processes.users,
					     .truncated = feed->processes.truncated,
					     .mappings_max = UNWIND_MAPPINGS_MAX,
					     .dropped = feed->dropped,
					     .files = files->items.count,
					     .tables = files->table_count,
					     .rows = files->rows,
					     .cached = files->cache.loaded,
					     .skipped = files->skipped };
}
