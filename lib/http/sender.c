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

struct body {
	struct text text;
	uint32_t count;
	bool spooled; /* it is in the spool until it has been sent */
	struct body *next;
};

struct sender {
	struct sender_options options;
	CURLM *multi;
	CURL *curl;
	struct curl_slist *headers;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct body *first, **last; /* the first is being sent */
	size_t waiting;             /* bytes */
	bool is_sending, is_ending, gives_up;
	bool is_failing;   /* the last try failed, and is to be repeated */
	uint64_t next_try; /* CLOCK_MONOTONIC, ns, while the thread waits for it; else 0 */
	struct sender_counts counts;
	struct spool *spool; /* NULL: none */

	/* Of the thread. */
	struct text answer;
	char error[ERROR_SIZE];
	bool told; /* the error was logged */
};

enum outcome { OUTCOME_SENT, OUTCOME_AGAIN, OUTCOME_REFUSED };

static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
	struct text *answer = context;
	/* What is longer cannot be an answer of this protocol: the transfer ends with CURLE_WRITE_ERROR. */
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

/* text: untrusted */
static void note_error(struct sender *sender, const char *what, const char *text)
{
	struct text name = { 0 };
	text_append_name(&name, text);
	snprintf(sender->error, sizeof sender->error, "%s%s", what, text_string(&name));
	text_free(&name);
	if (!sender->told)
		sender->options.host->log(sender->options.host, IAPROF_LOG_WARNING, "%s: %s", sender->options.url,
					  sender->error);
	sender->told = true;
}

/* Counts the profiles of a request that the server took. */
static void count_sent(struct sender *sender, uint32_t count)
{
	struct text reason = { 0 };
	uint32_t rejected = 0;
	if (sender->options.answer)
		rejected = sender->options.answer(sender->answer.data, sender->answer.size, count, &reason);
	if (reason.size)
		note_error(sender, "the server says: ", text_string(&reason));
	else if (rejected)
		note_error(sender, "the server rejected profiles", "");
	text_free(&reason);
	pthread_mutex_lock(&sender->lock);
	sender->counts.rejected += rejected;
	sender->counts.sent += count - rejected;
	pthread_mutex_unlock(&sender->lock);
}

/* The answers after which the protocol permits another try. */
static bool is_passing(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Records an error status, with the first line of the server's answer, and the remedy if there is one. */
static void note_refusal(struct sender *sender, long status)
{
	const struct sender_options *options = &sender->options;
	struct text reason = { 0 }, line = { 0 };
	const char *type = NULL, *remedy = status == STATUS_TOO_LARGE ? options->too_large : NULL;
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

/* *wait: seconds that the server asked for, 0 if it did not. */
static enum outcome try_once(struct sender *sender, const struct body *body, uint64_t *wait)
{
	long status = 0;
	curl_off_t after = 0;
	sender->answer.size = 0;
	curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDS, body->text.data);
	curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->text.size);
	CURLcode code = perform(sender);
	curl_easy_getinfo(sender->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(sender->curl, CURLINFO_RETRY_AFTER, &after);
	if (code != CURLE_OK && code != CURLE_WRITE_ERROR) {
		note_error(sender, "", code == CURLE_ABORTED_BY_CALLBACK ? "no answer" : curl_easy_strerror(code));
		return OUTCOME_AGAIN;
	}
	if (status >= 200 && status < 300) {
		count_sent(sender, body->count);
		return OUTCOME_SENT;
	}
	note_refusal(sender, status);
	*wait = after > 0 ? (uint64_t)after : 0;
	return is_passing(status) ? OUTCOME_AGAIN : OUTCOME_REFUSED;
}

/*
 * Waits for a time in seconds, and up to half of it longer, so that machines do not all come back at once, or until the
 * run no longer waits. Called with the lock.
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

/* Removes a request. at: what refers to it. Called with the lock. */
static void remove_body(struct sender *sender, struct body **at)
{
	struct body *body = *at;
	*at = body->next;
	if (!*at)
		sender->last = at;
	sender->waiting -= body->text.size;
	text_free(&body->text);
	free(body);
	pthread_cond_broadcast(&sender->changed);
}

/* Stores a request, which is not in the spool already. Called with the lock. */
static bool store(struct sender *sender, const struct body *body)
{
	return sender->spool && spool_put(sender->spool, &body->text, body->count, &sender->counts.dropped);
}

/* Stores a request, which may be in the spool already, or drops it. Called with the lock. */
static void put_away(struct sender *sender, const struct body *body)
{
	if (!body->spooled && !store(sender, body))
		sender->counts.dropped += body->count;
}

/*
 * What waits while the server does not take it survives the end of this process. What cannot be stored stays where it
 * is. Called with the lock.
 */
static void store_waiting(struct sender *sender)
{
	struct body **at = sender->is_sending && sender->first ? &sender->first->next : &sender->first;
	while (*at)
		if ((*at)->spooled || !store(sender, *at))
			at = &(*at)->next;
		else
			remove_body(sender, at);
}

/* Called with the lock, which is released while the request is sent. */
static void send_first(struct sender *sender, uint64_t *pause)
{
	const struct body *body = sender->first;
	uint64_t asked = 0;
	sender->is_sending = true;
	pthread_mutex_unlock(&sender->lock);
	enum outcome outcome = try_once(sender, body, &asked);
	pthread_mutex_lock(&sender->lock);
	sender->is_sending = false;
	sender->is_failing = outcome == OUTCOME_AGAIN;
	if (sender->is_failing) {
		store_waiting(sender);
		pthread_cond_broadcast(&sender->changed);
	}
	if (outcome == OUTCOME_AGAIN && !sender->gives_up) {
		uint64_t seconds = asked ? (asked < WAIT_ASKED_MAX ? asked : WAIT_ASKED_MAX) : *pause;
		*pause = *pause * 2 < WAIT_MAX ? *pause * 2 : WAIT_MAX;
		wait_for(sender, seconds);
		return;
	}
	*pause = WAIT_FIRST;
	if (outcome == OUTCOME_AGAIN)
		return;
	if (outcome == OUTCOME_REFUSED)
		sender->counts.refused += body->count;
	else
		sender->told = false;
	if (body->spooled)
		spool_remove(sender->spool);
	remove_body(sender, &sender->first);
}

/* Reads the oldest request of the spool, when nothing else waits. Called with the lock. */
static bool take_spooled(struct sender *sender)
{
	struct body *body = sender->spool && !sender->is_ending ? calloc(1, sizeof *body) : NULL;
	if (body && spool_take(sender->spool, &body->text, &body->count, &sender->counts.dropped)) {
		body->spooled = true;
		sender->waiting += body->text.size;
		*sender->last = body;
		sender->last = &body->next;
		return true;
	}
	if (body)
		text_free(&body->text);
	free(body);
	return false;
}

static void *run(void *context)
{
	struct sender *sender = context;
	uint64_t pause = WAIT_FIRST;
	pthread_mutex_lock(&sender->lock);
	while (!sender->gives_up && (sender->first || !sender->is_ending))
		if (sender->first)
			send_first(sender, &pause);
		else if (!take_spooled(sender))
			pthread_cond_wait(&sender->changed, &sender->lock);
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	return NULL;
}

/* Adds "key: value" for each pair of OTEL_EXPORTER_OTLP_HEADERS. Values are percent-encoded. */
static bool add_headers(struct sender *sender)
{
	char *copy = strdup(sender->options.headers), *rest = copy;
	bool good = copy != NULL;
	for (char *pair; good && (pair = strsep(&rest, ","));) {
		char *value = strchr(pair, '=');
		pair += strspn(pair, " \t");
		if (!value || value <= pair)
			continue;
		*value++ = '\0';
		int length = 0;
		char *decoded = curl_easy_unescape(sender->curl, value, 0, &length), *line = NULL;
		/* A line break would begin another header. */
		if (decoded && !strpbrk(decoded, "\r\n") && (size_t)length == strlen(decoded) &&
		    asprintf(&line, "%s: %s", pair, decoded) >= 0) {
			struct curl_slist *list = curl_slist_append(sender->headers, line);
			good = list != NULL;
			sender->headers = list ? list : sender->headers;
		}
		free(line);
		curl_free(decoded);
	}
	free(copy);
	return good;
}

static bool add_header(struct sender *sender, const char *line)
{
	struct curl_slist *list = curl_slist_append(sender->headers, line);
	sender->headers = list ? list : sender->headers;
	return list != NULL;
}

static bool add_type(struct sender *sender)
{
	char line[128];
	snprintf(line, sizeof line, "Content-Type: %s", sender->options.type);
	return add_header(sender, line);
}

static bool set_up(struct sender *sender)
{
	const struct sender_options *options = &sender->options;
	CURL *curl = sender->curl = curl_easy_init();
	sender->multi = curl_multi_init();
	if (!curl || !sender->multi || !add_type(sender) || !add_header(sender, "Expect:") ||
	    (options->compressed && !add_header(sender, "Content-Encoding: gzip")) ||
	    (options->headers && !add_headers(sender)))
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

static int start(struct sender *sender)
{
	const struct iaprof_host *host = sender->options.host;
	if (!set_up(sender))
		return host->fail(host, EINVAL, "cannot send to %s", sender->options.url);
	int result = open_spool(sender);
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
	sender->last = &sender->first;
	pthread_mutex_init(&sender->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sender->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	int result = start(sender);
	if (result)
		sender_free(sender);
	else
		*made = sender;
	return result;
}

/* Puts away the oldest request that is not being sent. Called with the lock. */
static void make_room(struct sender *sender, size_t size)
{
	while (sender->first && sender->waiting + size > SENDER_WAITING_MAX) {
		struct body **at = sender->is_sending ? &sender->first->next : &sender->first;
		if (!*at)
			return;
		put_away(sender, *at);
		remove_body(sender, at);
	}
}

void sender_add(struct sender *sender, struct text *body, uint32_t count)
{
	struct body *added = calloc(1, sizeof *added);
	pthread_mutex_lock(&sender->lock);
	make_room(sender, body->size);
	if (added && sender->waiting + body->size <= SENDER_WAITING_MAX) {
		*added = (struct body){ .text = *body, .count = count };
		*body = (struct text){ 0 };
		sender->waiting += added->text.size;
		*sender->last = added;
		sender->last = &added->next;
		added = NULL;
		if (sender->is_failing)
			store_waiting(sender);
	} else {
		sender->counts.dropped += count;
	}
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	free(added);
	text_free(body);
}

struct sender_counts sender_finish(struct sender *sender, uint64_t limit, const char **error)
{
	uint64_t end = clock_monotonic() + limit;
	const struct timespec until = { .tv_sec = (time_t)(end / NANOSECONDS_PER_SECOND),
					.tv_nsec = (long)(end % NANOSECONDS_PER_SECOND) };
	pthread_mutex_lock(&sender->lock);
	sender->is_ending = true;
	pthread_cond_broadcast(&sender->changed);
	/* While the server does not answer, the spool keeps the rest for the next run. A try after the end is none. */
	while (sender->first && !(sender->spool && sender->is_failing) && sender->next_try < end &&
	       !pthread_cond_timedwait(&sender->changed, &sender->lock, &until))
		;
	sender->gives_up = true;
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	curl_multi_wakeup(sender->multi);
	pthread_join(sender->thread, NULL);
	sender->has_thread = false;
	for (; sender->first; remove_body(sender, &sender->first))
		put_away(sender, sender->first);
	sender->counts.kept = spool_items(sender->spool);
	spool_close(STEAL_POINTER(sender->spool));
	*error = sender->error;
	return sender->counts;
}

void sender_free(struct sender *sender)
{
	const char *ignored;
	if (!sender)
		return;
	if (sender->has_thread)
		sender_finish(sender, 0, &ignored);
	curl_easy_cleanup(sender->curl);
	curl_multi_cleanup(sender->multi);
	curl_slist_free_all(sender->headers);
	text_free(&sender->answer);
	spool_close(sender->spool);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->lock);
	free(sender);
}
