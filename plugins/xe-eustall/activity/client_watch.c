/* SPDX-License-Identifier: Apache-2.0 */
/* See client_watch.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <iaprof/record.h>
#include "client_scan.h"
#include "client_watch.h"
#include "base/clock.h"
#include "base/thread.h"

#define SECOND NANOSECONDS_PER_SECOND
#define READING_PERIOD (SECOND / 10)
#define READING_PERIOD_MAX SECOND
#define SEARCH_PERIOD SECOND
/*
 * Maximum share of a CPU, 1/N, for reading and for searching; larger for a search while an unknown process uses the
 * GPU.
 */
#define READING_SHARE 1000u
#define SEARCH_SHARE 2000u
#define SEARCH_SHARE_BUSY 50u
/* How long to wait for the thread's first reading, and for its end. */
#define WAIT_TIME 2 /* s */
#define DEVICES_MAX 64u

struct client_watch {
	pthread_t thread;
	bool runs;
	char addresses[DEVICES_MAX][PCI_ADDRESS_SIZE];
	uint32_t address_count;

	pthread_mutex_t lock; /* protects the following members */
	pthread_cond_t wake;  /* CLOCK_MONOTONIC */
	bool stopping;
	bool hurry; /* an unknown process is busy */
	bool anew;  /* and none was before */
	struct client_news news;
	struct code_labels labels;
	struct broker *broker; /* of the thread; NULL: not needed yet */

	/* Used only by the thread. */
	struct client_scan scan;
	struct client_news fresh;
	uint64_t next_reading;
	uint64_t searched;    /* when clients were last searched, 0 if never */
	uint64_t search_cost; /* ns of a CPU */
	uint32_t search_share;
};

struct client_watch *client_watch_new(const char *proc)
{
	struct client_watch *watch = calloc(1, sizeof *watch);
	pthread_condattr_t attributes;

	if (!watch)
		return NULL;
	int error = client_scan_init(&watch->scan, proc);
	if (error) {
		free(watch);
		errno = -error;
		return NULL;
	}
	watch->search_share = SEARCH_SHARE_BUSY;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return watch;
}

int client_watch_add_device(struct client_watch *watch, const char *address)
{
	if (watch->address_count == DEVICES_MAX || strlen(address) >= PCI_ADDRESS_SIZE)
		return -E2BIG;
	strcpy(watch->addresses[watch->address_count], address);
	return (int)watch->address_count++;
}

void client_news_free(struct client_news *news)
{
	free(news->pieces.items);
	free(news->clients.items);
	*news = (struct client_news){ 0 };
}

static void piece_add(struct client_news *news, const struct busy_piece *piece)
{
	if (news->pieces.count >= BUSY_HISTORY_SIZE || !array_push(&news->pieces, *piece))
		news->forgotten++;
}

static int client_was_busy(void *context, const struct client *client, uint64_t now, uint64_t busy)
{
	struct client_watch *watch = context;
	struct busy_piece piece = { .begin = client->time,
				    .end = now,
				    .busy = busy,
				    .device = client->device,
				    .pid = client->pid,
				    .kind = IAPROF_ACTIVITY_STATISTICS };

	piece_add(&watch->fresh, &piece);
	return 0;
}

static void clients_note(struct client_watch *watch)
{
	struct client_news *fresh = &watch->fresh;

	fresh->clients.count = 0;
	for (size_t i = 0; i < watch->scan.clients.count; i++) {
		const struct client *client = &watch->scan.clients.items[i];
		const struct client_state state = { .client = client->usage.client,
						    .device = client->device,
						    .pid = client->pid,
						    .read = client->read };
		if (client->device != CLIENT_FOREIGN)
			(void)array_push(&fresh->clients, state);
	}
	fresh->left_out = watch->scan.left_out;
}

/* Called with the lock held. */
static void news_publish(struct client_watch *watch)
{
	struct client_news *news = &watch->news, *fresh = &watch->fresh;

	for (size_t i = 0; i < fresh->pieces.count; i++)
		piece_add(news, &fresh->pieces.items[i]);
	news->forgotten += fresh->forgotten;
	fresh->pieces.count = fresh->forgotten = 0;

	__typeof__(news->clients) clients = news->clients;
	news->clients = fresh->clients;
	fresh->clients = clients;
	news->left_out = fresh->left_out;
	if (fresh->reading)
		news->reading = fresh->reading;
}

/* Returns when the next search is due. hurry: a search is urgent; unsuccessful searches become less frequent. */
static uint64_t search_time(const struct client_watch *watch, bool hurry)
{
	uint64_t pause = watch->search_cost * (hurry ? watch->search_share : SEARCH_SHARE);

	return watch->searched ? watch->searched + (pause > SEARCH_PERIOD ? pause : SEARCH_PERIOD) : 0;
}

static void clients_search(struct client_watch *watch)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);

	if (client_scan_search(&watch->scan, clock_monotonic()))
		watch->search_share = SEARCH_SHARE_BUSY;
	else if (watch->search_share < SEARCH_SHARE)
		watch->search_share *= 2;
	watch->search_cost = clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
	watch->searched = clock_monotonic();
}

static void clients_read(struct client_watch *watch)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);

	watch->fresh.reading = clock_monotonic();
	client_scan_read(&watch->scan, watch->fresh.reading, client_was_busy, watch);
	uint64_t pause = (clock_read(CLOCK_THREAD_CPUTIME_ID) - begin) * READING_SHARE;
	if (pause < READING_PERIOD)
		pause = READING_PERIOD;
	watch->next_reading = clock_monotonic() + (pause < READING_PERIOD_MAX ? pause : READING_PERIOD_MAX);
}

static enum code_label label_read(struct client_watch *watch, uint32_t pid)
{
	if (!watch->broker)
		watch->broker = broker_new();
	return watch->broker ? code_label_of_process(watch->broker, pid) : CODE_LABEL_NONE;
}

/* Called with the lock held, which is released while /proc is read. Returns the time of the next action. */
static uint64_t round_do(struct client_watch *watch)
{
	uint64_t now = clock_monotonic();
	bool reads = now >= watch->next_reading, searches = now >= search_time(watch, watch->hurry);
	uint32_t pid = code_labels_asked(&watch->labels);

	if (watch->anew)
		watch->search_share = SEARCH_SHARE_BUSY;
	watch->anew = false;
	if (reads || searches || pid) {
		enum code_label label = CODE_LABEL_NONE;
		pthread_mutex_unlock(&watch->lock);
		if (reads)
			clients_read(watch);
		if (searches)
			clients_search(watch);
		/* The process, reported by the scheduler, may be new. */
		if (pid)
			client_scan_search_process(&watch->scan, pid, now);
		if (pid)
			label = label_read(watch, pid);
		clients_note(watch);
		pthread_mutex_lock(&watch->lock);
		if (searches)
			watch->hurry = false;
		if (pid)
			code_labels_store(&watch->labels, pid, label);
		news_publish(watch);
		pthread_cond_broadcast(&watch->wake);
		return now;
	}
	uint64_t search = search_time(watch, watch->hurry);
	return search < watch->next_reading ? search : watch->next_reading;
}

static struct timespec timespec_of(uint64_t time)
{
	return (struct timespec){ (time_t)(time / SECOND), (long)(time % SECOND) };
}

static void *watch_run(void *context)
{
	struct client_watch *watch = context;

	pthread_mutex_lock(&watch->lock);
	while (!watch->stopping) {
		struct timespec time = timespec_of(round_do(watch));
		if (!watch->stopping && !code_labels_asked(&watch->labels))
			pthread_cond_timedwait(&watch->wake, &watch->lock, &time);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

int client_watch_start(struct client_watch *watch)
{
	struct timespec until = timespec_of(clock_monotonic() + WAIT_TIME * SECOND);

	watch->scan.addresses = watch->addresses;
	watch->scan.address_count = watch->address_count;
	int error = thread_start(&watch->thread, watch_run, watch);
	if (error)
		return -error;
	watch->runs = true;
	pthread_mutex_lock(&watch->lock);
	while (!watch->news.reading && !error)
		error = pthread_cond_timedwait(&watch->wake, &watch->lock, &until);
	pthread_mutex_unlock(&watch->lock);
	return 0;
}

bool client_watch_take(struct client_watch *watch, struct client_news *news)
{
	pthread_mutex_lock(&watch->lock);
	bool any = watch->news.reading != 0;
	if (any) {
		struct client_news taken = watch->news;
		watch->news = *news;
		watch->news.reading = watch->news.forgotten = 0;
		watch->news.pieces.count = watch->news.clients.count = 0;
		*news = taken;
	}
	pthread_mutex_unlock(&watch->lock);
	return any;
}

enum code_label client_watch_label(struct client_watch *watch, uint32_t pid, uint64_t now)
{
	pthread_mutex_lock(&watch->lock);
	enum code_label label = code_labels_find(&watch->labels, pid, now);
	if (code_labels_asked(&watch->labels))
		pthread_cond_broadcast(&watch->wake);
	pthread_mutex_unlock(&watch->lock);
	return label;
}

void client_watch_search(struct client_watch *watch, bool anew)
{
	pthread_mutex_lock(&watch->lock);
	if (!watch->hurry || anew) {
		watch->hurry = true;
		watch->anew = anew;
		pthread_cond_broadcast(&watch->wake);
	}
	pthread_mutex_unlock(&watch->lock);
}

void client_watch_free(struct client_watch *watch)
{
	struct timespec until;

	if (!watch)
		return;
	if (watch->runs) {
		pthread_mutex_lock(&watch->lock);
		watch->stopping = true;
		pthread_cond_broadcast(&watch->wake);
		pthread_mutex_unlock(&watch->lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += WAIT_TIME;
		if (pthread_timedjoin_np(watch->thread, NULL, &until)) {
			pthread_detach(watch->thread);
			return;
		}
	}
	broker_free(watch->broker);
	client_scan_free(&watch->scan);
	client_news_free(&watch->news);
	client_news_free(&watch->fresh);
	pthread_cond_destroy(&watch->wake);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}
