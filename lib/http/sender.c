/* SPDX-License-Identifier: Apache-2.0 */
/* See sender.h. */
#include "http/sender.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "http/headers.h"
#include "http/request_queue.h"
#include "http/spool.h"

/* Limits on an answer, and on the time between tries, in seconds. */
#define ANSWER_SIZE_MAX ((size_t)64 << 10)
#define WAIT_FIRST 1u
#define WAIT_MAX 30u
#define WAIT_ASKED_MAX 300u
#define ERROR_SIZE 400u
#define REASON_SIZE_MAX 200u
#define STATUS_TOO_LARGE 413
#define POLL_MS 1000
/* Waiting requests are stored once a try takes longer than this, because it may fail. */
#define TRY_OVERDUE NANOSECONDS_PER_SECOND
/* Minimum time between two messages about the same failure, and about failures with successes in between. */
#define LOG_PERIOD (3600 * NANOSECONDS_PER_SECOND)
#define LOG_PERIOD_NEW (300 * NANOSECONDS_PER_SECOND)

struct sender {
	struct sender_options options;
	char *url; /* without user and password */
	CURLM *multi;
	CURL *curl;
	struct curl_slist *headers;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct request_queue queue;
	bool is_ending, gives_up;
	bool is_failing;    /* the last try failed and will be repeated */
	uint64_t try_begin; /* CLOCK_MONOTONIC, ns, while the first request is being sent; else 0 */
	uint64_t next_try;  /* the same, while the thread waits for it; else 0 */
	struct sender_counts counts;
	struct spool *spool; /* NULL: none */
	char reasons[SENDER_FATE_COUNT][ERROR_SIZE];
	uint64_t drop_logged_at, spool_logged_at; /* CLOCK_MONOTONIC, ns; 0: never */

	/* Used only by the thread: */
	struct text answer;
	char error[ERROR_SIZE];
	char logged[ERROR_SIZE];               /* the last error that was logged */
	bool is_reported;                      /* the failure was logged, and no request was accepted since */
	uint64_t logged_at, refusal_logged_at; /* CLOCK_MONOTONIC, ns; 0: never */
	uint64_t dropped_earlier;              /* profiles dropped before the failure */
};

enum outcome { OUTCOME_SENT, OUTCOME_SENT_IN_PART, OUTCOME_AGAIN, OUTCOME_REFUSED };

static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
	struct text *answer = context;
	/* A longer answer cannot belong to this protocol: the transfer ends with CURLE_WRITE_ERROR. */
	if (answer->size + size * count > ANSWER_SIZE_MAX)
		return 0;
	text_append(answer, bytes, size * count);
	return size * count;
}

static bool gives_up(struct sender *sender)
{
	pthread_mutex_lock(&sender->lock);
	bool result = sender->gives_up;
	pthread_mutex_unlock(&sender->lock);
	return result;
}

/* As curl_easy_perform(), but ends with CURLE_ABORTED_BY_CALLBACK as soon as the run no longer waits. */
static CURLcode perform(struct sender *sender)
{
	CURLcode code = CURLE_FAILED_INIT;
	int running = 1, left;
	if (curl_multi_add_handle(sender->multi, sender->curl) != CURLM_OK)
		return code;
	while (running && !gives_up(sender) && curl_multi_perform(sender->multi, &running) == CURLM_OK && running)
		curl_multi_poll(sender->multi, NULL, 0, POLL_MS, NULL);
	const CURLMsg *message = running ? NULL : curl_multi_info_read(sender->multi, &left);
	if (message && message->msg == CURLMSG_DONE)
		code = message->data.result;
	else if (running)
		code = CURLE_ABORTED_BY_CALLBACK;
	curl_multi_remove_handle(sender->multi, sender->curl);
	return code;
}

/* Returns whether the last message is older than period, and if so sets *logged_at to now. */
static bool is_due(uint64_t *logged_at, uint64_t period)
{
	uint64_t now = clock_monotonic();
	bool due = !*logged_at || now - *logged_at >= period;
	*logged_at = due ? now : *logged_at;
	return due;
}

static void log_error(struct sender *sender)
{
	const struct iaprof_host *host = sender->options.host;
	host->log(host, IAPROF_LOG_WARNING, "%s: %s", sender->url, sender->error);
	strcpy(sender->logged, sender->error);
	sender->is_reported = true;
}

/* text: untrusted */
static void note_error(struct sender *sender, const char *what, const char *text)
{
	struct text name = { 0 };
	text_append_name(&name, text);
	snprintf(sender->error, sizeof sender->error, "%s%s", what, text_string(&name));
	text_free(&name);
	bool is_known = sender->is_reported && !strcmp(sender->error, sender->logged);
	if (is_due(&sender->logged_at, is_known ? LOG_PERIOD : LOG_PERIOD_NEW))
		log_error(sender);
}

/* Records the current error as the reason for a loss of profiles. */
static void note_loss(struct sender *sender, enum sender_fate fate)
{
	bool is_known = !strcmp(sender->error, sender->logged);
	strcpy(sender->reasons[fate], sender->error);
	if (is_due(&sender->refusal_logged_at, LOG_PERIOD) && !is_known)
		log_error(sender);
}

/* Records that a request was accepted. Called with the lock. */
static void note_success(struct sender *sender)
{
	const struct iaprof_host *host = sender->options.host;
	uint64_t dropped = sender->counts.dropped - sender->dropped_earlier;
	if (sender->is_reported && dropped)
		host->log(host, IAPROF_LOG_WARNING, "%s: accepts requests again (dropped meanwhile: %" PRIu64 ")",
			  sender->url, dropped);
	else if (sender->is_reported)
		host->log(host, IAPROF_LOG_WARNING, "%s: accepts requests again", sender->url);
	sender->is_reported = false;
	sender->dropped_earlier = sender->counts.dropped;
}

/* Counts dropped profiles. Called with the lock. */
static void drop(struct sender *sender, uint64_t count, const char *reason)
{
	const struct iaprof_host *host = sender->options.host;
	sender->counts.dropped += count;
	snprintf(sender->reasons[SENDER_DROPPED], ERROR_SIZE, "%s", reason);
	if (is_due(&sender->drop_logged_at, LOG_PERIOD))
		host->log(host, IAPROF_LOG_WARNING, "%s: dropped waiting requests: %s", sender->url, reason);
}

/* Counts the profiles of a request that the server accepted. Returns whether it rejected some of them. */
static bool count_sent(struct sender *sender, uint32_t count)
{
	struct text reason = { 0 };
	uint32_t rejected = 0;
	if (sender->options.answer)
		rejected = sender->options.answer(sender->answer.data, sender->answer.size, count, &reason);
	if (reason.size)
		note_error(sender, "server response: ", text_string(&reason));
	else if (rejected)
		note_error(sender, "no reason given", "");
	if (rejected)
		note_loss(sender, SENDER_REJECTED);
	bool objects = rejected || reason.size;
	text_free(&reason);
	pthread_mutex_lock(&sender->lock);
	sender->counts.rejected += rejected;
	sender->counts.sent += count - rejected;
	pthread_mutex_unlock(&sender->lock);
	return objects;
}

/* Returns whether the protocol permits another try after this status. */
static bool is_passing(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Returns whether a receiver that gets valid credentials, or renews them, will accept the request. */
static bool lacks_credentials(long status)
{
	return status == 401 || status == 403 || status == 407;
}

/* Records an error status, with the first line of the server's answer, and the remedy if there is one. */
static void note_refusal(struct sender *sender, long status)
{
	const struct sender_options *options = &sender->options;
	struct text reason = { 0 }, line = { 0 };
	const char *type = NULL, *remedy = status == STATUS_TOO_LARGE      ? options->too_large
					   : status >= 300 && status < 400 ? "redirects are not followed"
									   : NULL;
	curl_easy_getinfo(sender->curl, CURLINFO_CONTENT_TYPE, &type);
	if (type && (strncasecmp(type, "text/plain", 10) == 0 || strncasecmp(type, "application/json", 16) == 0))
		text_append(&reason, sender->answer.data, strcspn(text_string(&sender->answer), "\r\n"));
	else if (options->explanation)
		options->explanation(sender->answer.data, sender->answer.size, &reason);
	if (reason.size > REASON_SIZE_MAX)
		reason.size = REASON_SIZE_MAX;
	text_append_format(&line, "%ld%s%s%s%s%s", status, reason.size ? ": " : "", text_string(&reason),
			   remedy ? " (" : "", remedy ? remedy : "", remedy ? ")" : "");
	note_error(sender, "HTTP status ", text_string(&line));
	text_free(&reason);
	text_free(&line);
}

/* Returns the text of a failed try's error. */
static const char *describe(CURLcode code)
{
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		return "no answer before the run ended";
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return "the receiver closed the connection";
	default:
		return curl_easy_strerror(code);
	}
}

/* *wait: seconds that the server asked for, 0 if it did not. */
static enum outcome try_once(struct sender *sender, const struct waiting_request *request, uint64_t *wait)
{
	long status = 0;
	curl_off_t after = 0;
	sender->answer.size = 0;
	curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDS, request->body.data);
	curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
	CURLcode code = perform(sender);
	curl_easy_getinfo(sender->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(sender->curl, CURLINFO_RETRY_AFTER, &after);
	if (code != CURLE_OK && code != CURLE_WRITE_ERROR) {
		note_error(sender, "", describe(code));
		return OUTCOME_AGAIN;
	}
	if (status >= 200 && status < 300)
		return count_sent(sender, request->count) ? OUTCOME_SENT_IN_PART : OUTCOME_SENT;
	note_refusal(sender, status);
	*wait = after > 0 ? (uint64_t)after : 0;
	/* The credentials of the next run may be valid. Without a spool, memory would fill with what is refused. */
	if (is_passing(status) || (sender->spool && lacks_credentials(status)))
		return OUTCOME_AGAIN;
	note_loss(sender, SENDER_REFUSED);
	return OUTCOME_REFUSED;
}

/*
 * Waits for a time in seconds, and up to half of it longer, so that machines do not retry at the same time, or until
 * the run no longer waits. Called with the lock.
 */
static void wait_for(struct sender *sender, uint64_t seconds)
{
	struct timespec until;
	uint32_t random = 0;
	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	clock_gettime(CLOCK_MONOTONIC, &until);
	uint64_t longest = seconds * NANOSECONDS_PER_SECOND / 2;
	uint64_t more = (uint64_t)until.tv_nsec + longest / UINT32_MAX * random;
	until.tv_sec += (time_t)(seconds + more / NANOSECONDS_PER_SECOND);
	until.tv_nsec = (long)(more % NANOSECONDS_PER_SECOND);
	sender->next_try = (uint64_t)until.tv_sec * NANOSECONDS_PER_SECOND + (uint64_t)until.tv_nsec;
	pthread_cond_broadcast(&sender->changed);
	while (!sender->gives_up && !pthread_cond_timedwait(&sender->changed, &sender->lock, &until))
		;
	sender->next_try = 0;
}

/* Reports the delivery counters to the core. Called with the lock. */
static void report(const struct sender *sender)
{
	const struct sender_counts *counts = &sender->counts;
	const struct iaprof_host *host = sender->options.host;
	struct iaprof_delivery delivery = {
		.size = sizeof delivery,
		.delivered = counts->sent,
		.refused = counts->rejected + counts->refused,
		.dropped = counts->dropped + counts->unsent,
		.waiting = request_queue_count(&sender->queue) + spool_items(sender->spool),
		.stored = sender->spool ? spool_size(sender->spool) : IAPROF_COUNT_UNKNOWN,
	};
	/* It is counted in the spool, too. */
	if (sender->queue.first && sender->queue.first->spooled)
		delivery.waiting -= sender->queue.first->count;
	host->delivery(host, &delivery);
}

/* Removes a request behind another one, or the first one. Called with the lock. */
static void remove_request(struct sender *sender, struct waiting_request *before)
{
	request_queue_remove(&sender->queue, before);
	pthread_cond_broadcast(&sender->changed);
}

/*
 * Stores a request, which is not in the spool already. Returns 0, or a negative errno with its reason. Called with the
 * lock.
 */
static int store(struct sender *sender, const struct waiting_request *request, char reason[static ERROR_SIZE])
{
	const struct iaprof_host *host = sender->options.host;
	uint64_t displaced = 0;
	int result = spool_put(sender->spool, &request->body, request->count, &displaced);
	if (displaced)
		drop(sender, displaced, "the spool is full");
	if (!result)
		return 0;
	snprintf(reason, ERROR_SIZE, "spool %s: %s", sender->options.spool,
		 result == -EFBIG ? "a request is larger than spool-size" : strerror(-result));
	if (is_due(&sender->spool_logged_at, LOG_PERIOD))
		host->log(host, IAPROF_LOG_WARNING, "%s (requests wait in memory)", reason);
	return result;
}

/* Stores a request, which may be in the spool already, or drops it. Called with the lock. */
static void store_or_drop(struct sender *sender, const struct waiting_request *request)
{
	char reason[ERROR_SIZE] = "the memory for requests is full";
	if (!request->spooled && (!sender->spool || store(sender, request, reason)))
		drop(sender, request->count, reason);
}

/* Returns the last request that stays in memory in any case: the one that is being sent. Called with the lock. */
static struct waiting_request *request_in_use(const struct sender *sender)
{
	return sender->try_begin ? sender->queue.first : NULL;
}

/*
 * Stores unsent requests in the spool, so that they outlive the process. Those that cannot be stored stay in memory.
 * Called with the lock.
 */
static void store_waiting(struct sender *sender)
{
	struct waiting_request *before = request_in_use(sender), *request;
	char reason[ERROR_SIZE];
	while (sender->spool && (request = before ? before->next : sender->queue.first)) {
		int result = request->spooled ? 0 : store(sender, request, reason);
		/* Any other error, such as a full disk, also applies to the remaining requests. */
		if (result && result != -EFBIG)
			return;
		if (request->spooled || result)
			before = request;
		else
			remove_request(sender, before);
	}
}

/* Sends the first request. Called with the lock, which is released meanwhile. */
static void send_first(struct sender *sender, uint64_t *pause)
{
	const struct waiting_request *request = sender->queue.first;
	uint64_t asked = 0;
	sender->try_begin = clock_monotonic();
	pthread_mutex_unlock(&sender->lock);
	enum outcome outcome = try_once(sender, request, &asked);
	pthread_mutex_lock(&sender->lock);
	sender->try_begin = 0;
	if (outcome == OUTCOME_AGAIN) {
		sender->is_failing = true;
		store_waiting(sender);
		pthread_cond_broadcast(&sender->changed);
		report(sender);
		if (sender->gives_up)
			return;
		uint64_t seconds = asked ? (asked < WAIT_ASKED_MAX ? asked : WAIT_ASKED_MAX) : *pause;
		*pause = *pause * 2 < WAIT_MAX ? *pause * 2 : WAIT_MAX;
		wait_for(sender, seconds);
		return;
	}
	*pause = WAIT_FIRST;
	if (outcome == OUTCOME_REFUSED)
		sender->counts.refused += request->count;
	else if (outcome == OUTCOME_SENT)
		note_success(sender);
	sender->is_failing = false;
	if (request->spooled)
		spool_remove(sender->spool);
	remove_request(sender, NULL);
	report(sender);
}

/* Reads the oldest request of the spool if no other request waits. Called with the lock. */
static bool take_spooled(struct sender *sender)
{
	struct text body = { 0 };
	uint32_t count;
	uint64_t unreadable = 0;
	bool is_taken = sender->spool && !sender->is_ending && spool_take(sender->spool, &body, &count, &unreadable);
	if (unreadable)
		drop(sender, unreadable,
		     "a file of the spool cannot be read, or has the format of another configuration");
	/* When out of memory, the request stays in the spool for the next run. */
	bool good = is_taken && request_queue_add(&sender->queue, &body, count, true);
	text_free(&body);
	return good;
}

static void *run(void *context)
{
	struct sender *sender = context;
	uint64_t pause = WAIT_FIRST;
	pthread_mutex_lock(&sender->lock);
	report(sender);
	while (!sender->gives_up && !(sender->is_ending && !sender->queue.first))
		if (sender->queue.first)
			send_first(sender, &pause);
		else if (!take_spooled(sender))
			pthread_cond_wait(&sender->changed, &sender->lock);
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	return NULL;
}

static bool add_header(struct sender *sender, const char *line)
{
	struct curl_slist *list = curl_slist_append(sender->headers, line);
	sender->headers = list ? list : sender->headers;
	return list != NULL;
}

static bool take_header(void *context, const char *line)
{
	return add_header(context, line);
}

static bool add_type(struct sender *sender)
{
	char line[128];
	snprintf(line, sizeof line, "Content-Type: %s", sender->options.type);
	return add_header(sender, line);
}

/* Returns a URL without user and password, which the caller frees; NULL when out of memory. */
static char *make_shown(const char *url)
{
	CURLU *parsed = curl_url();
	char *text = NULL, *copy;
	if (parsed && !curl_url_set(parsed, CURLUPART_URL, url, 0) && !curl_url_set(parsed, CURLUPART_USER, NULL, 0) &&
	    !curl_url_set(parsed, CURLUPART_PASSWORD, NULL, 0))
		curl_url_get(parsed, CURLUPART_URL, &text, 0);
	copy = text ? strdup(text) : NULL;
	curl_free(text);
	curl_url_cleanup(parsed);
	return copy;
}

static bool set_up(struct sender *sender)
{
	const struct sender_options *options = &sender->options;
	char problem[HEADERS_PROBLEM_SIZE];
	CURL *curl = sender->curl = curl_easy_init();
	sender->multi = curl_multi_init();
	sender->url = make_shown(options->url);
	if (!sender->url || !curl || !sender->multi || !add_type(sender) || !add_header(sender, "Expect:") ||
	    (options->compressed && !add_header(sender, "Content-Encoding: gzip")) ||
	    (options->headers && headers_read(options->headers, take_header, sender, problem)))
		return false;
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, sender->headers);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, options->user_agent);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(options->timeout / 1000000));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sender->answer);
	if (options->certificate)
		curl_easy_setopt(curl, CURLOPT_CAINFO, options->certificate);
	return curl_easy_setopt(curl, CURLOPT_URL, options->url) == CURLE_OK;
}

static int open_spool(struct sender *sender)
{
	const struct sender_options *options = &sender->options;
	if (!options->spool || !*options->spool)
		return 0;
	return spool_open(&(struct spool_options){ .host = options->host,
						   .folder = options->spool,
						   .name = options->spool_name,
						   .limit = options->spool_limit,
						   .compressed = options->compressed },
			  &sender->spool);
}

int sender_start(struct sender *sender)
{
	const struct iaprof_host *host = sender->options.host;
	int result = sender->spool ? spool_begin(sender->spool) : 0;
	if (result)
		return result;
	result = pthread_create(&sender->thread, NULL, run, sender);
	sender->has_thread = !result;
	return result ? host->fail(host, result, "cannot create a thread: %s", strerror(result)) : 0;
}

int sender_new(const struct sender_options *options, struct sender **made)
{
	struct sender *sender = calloc(1, sizeof *sender);
	pthread_condattr_t attributes;
	if (!sender)
		return options->host->fail(options->host, ENOMEM, "out of memory");
	sender->options = *options;
	pthread_mutex_init(&sender->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sender->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	int result = set_up(sender) ? open_spool(sender)
				    : options->host->fail(options->host, EINVAL, "cannot send to this URL");
	if (result)
		sender_free(sender);
	else
		*made = sender;
	return result;
}

/* Stores or drops the oldest requests that are not being sent. Called with the lock. */
static void make_room(struct sender *sender, size_t size)
{
	while (sender->queue.first && sender->queue.size + size > SENDER_WAITING_MAX) {
		struct waiting_request *before = request_in_use(sender);
		const struct waiting_request *oldest = before ? before->next : sender->queue.first;
		if (!oldest)
			return;
		store_or_drop(sender, oldest);
		remove_request(sender, before);
	}
}

void sender_add(struct sender *sender, struct text *body, uint32_t count)
{
	pthread_mutex_lock(&sender->lock);
	make_room(sender, body->size);
	if (sender->queue.size + body->size > SENDER_WAITING_MAX)
		drop(sender, count, "the memory for requests is full");
	else if (!request_queue_add(&sender->queue, body, count, false))
		drop(sender, count, strerror(ENOMEM));
	if (sender->is_failing || (sender->try_begin && clock_monotonic() - sender->try_begin > TRY_OVERDUE))
		store_waiting(sender);
	pthread_cond_broadcast(&sender->changed);
	report(sender);
	pthread_mutex_unlock(&sender->lock);
	text_free(body);
}

/* Returns whether the spool can keep the remaining requests, so that there is no need to wait. Called with the lock. */
static bool can_store(const struct sender *sender)
{
	return !sender->try_begin && sender->spool && sender->is_failing;
}

static void close_spool(struct sender *sender)
{
	uint64_t kept = spool_items(sender->spool);
	if (kept && spool_is_removed(sender->spool))
		drop(sender, kept, "the folder of the spool was removed");
	else
		sender->counts.kept = kept;
	spool_close(STEAL_POINTER(sender->spool));
}

/* Stores unsent requests, or counts them. The thread has ended. */
static void dispose_unsent(struct sender *sender)
{
	if (sender->queue.first && sender->queue.first->spooled)
		remove_request(sender, NULL);
	strcpy(sender->reasons[SENDER_UNSENT], sender->error);
	for (; sender->queue.first; remove_request(sender, NULL))
		if (sender->spool)
			store_or_drop(sender, sender->queue.first);
		else
			sender->counts.unsent += sender->queue.first->count;
	close_spool(sender);
}

struct sender_counts sender_finish(struct sender *sender, uint64_t limit)
{
	uint64_t end = clock_monotonic() + limit;
	const struct timespec until = { .tv_sec = (time_t)(end / NANOSECONDS_PER_SECOND),
					.tv_nsec = (long)(end % NANOSECONDS_PER_SECOND) };
	pthread_mutex_lock(&sender->lock);
	sender->is_ending = true;
	pthread_cond_broadcast(&sender->changed);
	/* A try after the end would not be made. */
	while (sender->queue.first && !can_store(sender) && sender->next_try < end &&
	       !pthread_cond_timedwait(&sender->changed, &sender->lock, &until))
		;
	sender->gives_up = true;
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	curl_multi_wakeup(sender->multi);
	if (sender->has_thread)
		pthread_join(sender->thread, NULL);
	sender->has_thread = false;
	dispose_unsent(sender);
	return sender->counts;
}

const char *sender_url(const struct sender *sender)
{
	return sender->url;
}

const char *sender_error(const struct sender *sender)
{
	return sender->error;
}

const char *sender_reason(const struct sender *sender, enum sender_fate fate)
{
	return sender->reasons[fate];
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	if (sender->has_thread)
		sender_finish(sender, 0);
	while (sender->queue.first)
		remove_request(sender, NULL);
	curl_easy_cleanup(sender->curl);
	curl_multi_cleanup(sender->multi);
	curl_slist_free_all(sender->headers);
	free(sender->url);
	text_free(&sender->answer);
	spool_close(sender->spool);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->lock);
	free(sender);
}
