/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of the live view: see live.h. */
#include "live.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "screen.h"
#include "terminal.h"

/* Period of checks for the window size and the end of the run, ms, because a plugin handles no signals. */
#define TURN 200

struct live {
	const struct iaprof_host *host;
	struct terminal terminal;
	struct screen screen;
	int wake; /* eventfd: new data */
	pthread_t thread;
	atomic_bool end, complete;

	pthread_mutex_t lock; /* protects the model, which the sink's thread updates */
	struct model model;
	bool has_news;

	/* Used by the thread only. */
	struct view view;
	struct model frozen; /* the model shown while paused */
	bool has_frozen;
	bool is_stale; /* the screen is out of date */
	bool is_done;
};

static void freeze(struct live *live)
{
	if (live->has_frozen)
		model_free(&live->frozen);
	live->has_frozen = live->view.paused && model_copy(&live->frozen, &live->model);
	live->view.paused = live->has_frozen;
}

/* Waits until iaprof is in the foreground or the run has ended. */
static void wait_for_terminal(struct live *live)
{
	while (terminal_is_elsewhere(&live->terminal) && !atomic_load(&live->end) &&
	       !(atomic_load(&live->complete) && live->host->run_is_ending(live->host)))
		poll(NULL, 0, TURN);
}

/* Stops the whole process group, as the terminal driver would; execution continues here after SIGCONT. */
static void suspend(struct live *live)
{
	terminal_restore(&live->terminal);
	live->host->screen_release(live->host);
	kill(0, SIGTSTP);
	poll(NULL, 0, 100);
	wait_for_terminal(live);
	live->host->screen_acquire(live->host, SCREEN_RESTORE);
	terminal_enter(&live->terminal);
}

static void take_key(struct live *live, enum key key)
{
	pthread_mutex_lock(&live->lock);
	const struct model *model = live->has_frozen ? &live->frozen : &live->model;
	enum view_action action = view_key(&live->view, model, key, screen_page(&live->screen, model));
	if (action == VIEW_PAUSE)
		freeze(live);
	pthread_mutex_unlock(&live->lock);
	if (action == VIEW_SUSPEND)
		suspend(live);
	live->is_done |= action == VIEW_QUIT;
	live->is_stale |= action != VIEW_NOTHING;
}

static void take_keys(struct live *live)
{
	enum key key;
	while (!live->is_done && (key = terminal_key(&live->terminal)) != KEY_NONE)
		take_key(live, key);
}

static void draw(struct live *live)
{
	struct terminal *terminal = &live->terminal;
	pthread_mutex_lock(&live->lock);
	live->has_news = false;
	screen_append(&terminal->waiting, &live->screen, &live->view, live->has_frozen ? &live->frozen : &live->model);
	pthread_mutex_unlock(&live->lock);
	if (terminal->waiting.failed) /* retried with the next screen */
		terminal->waiting.size = terminal->waiting_from = 0;
	live->is_stale = false;
}

/* Draws the screen, unless the terminal has not accepted the last one yet. */
static void show(struct live *live)
{
	struct terminal *terminal = &live->terminal;
	bool complete = atomic_load(&live->complete);
	pthread_mutex_lock(&live->lock);
	live->is_stale |= live->has_news || complete != live->screen.complete;
	pthread_mutex_unlock(&live->lock);
	live->screen.complete = complete;
	if (terminal_is_elsewhere(terminal))
		return;
	live->is_stale |= terminal_measure(terminal);
	live->screen.rows = terminal->rows;
	live->screen.columns = terminal->columns;
	if (live->is_stale && !terminal_is_waiting(terminal))
		draw(live);
	terminal_flush(terminal);
}

static void wait_for_news(struct live *live)
{
	struct pollfd ready[] = {
		{ .fd = live->wake, .events = POLLIN },
		{ .fd = live->terminal.descriptor,
		  .events = (short)(POLLIN | (terminal_is_waiting(&live->terminal) ? POLLOUT : 0)) },
	};
	uint64_t count;
	/* Drop input that was typed for other programs. */
	if (terminal_is_elsewhere(&live->terminal))
		ready[1].events = 0;
	/* The rest of a sequence follows at once. */
	if (!poll(ready, 2, TURN) && terminal_take_escape(&live->terminal))
		take_key(live, KEY_ESCAPE);
	if (ready[0].revents && read(live->wake, &count, sizeof count) < 0)
		return;
	live->terminal.is_gone |= ready[1].revents & (POLLHUP | POLLERR | POLLNVAL) ? true : false;
	if (ready[1].revents & POLLIN && !live->terminal.is_gone)
		take_keys(live);
}

static void *run(void *argument)
{
	struct live *live = argument;
	const struct iaprof_host *host = live->host;
	wait_for_terminal(live);
	if (!atomic_load(&live->end))
		terminal_enter(&live->terminal);
	while (!atomic_load(&live->end) && !live->is_done && !live->terminal.is_gone) {
		show(live);
		wait_for_news(live);
		live->is_done |= atomic_load(&live->complete) && host->run_is_ending(host);
	}
	/* Another screen would not be visible. */
	terminal_restore(&live->terminal);
	host->screen_release(host);
	if (!atomic_load(&live->end))
		host->end_run(host);
	return NULL;
}

/* Signals are handled by the main thread. */
static int start_thread(struct live *live)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int result = pthread_create(&live->thread, NULL, run, live);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

static void release(struct live *live)
{
	terminal_close(&live->terminal);
	if (live->wake >= 0)
		close(live->wake);
	model_free(&live->model);
	model_free(&live->frozen);
	charset_free(&live->screen.charset);
	pthread_mutex_destroy(&live->lock);
	free(live);
}

static int start(struct live *live)
{
	const struct iaprof_host *host = live->host;
	int result = terminal_open(&live->terminal);
	if (result)
		return host->fail(host, result, "cannot open the terminal: %s (use top:batch=yes for text)",
				  strerror(-result));
	live->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (live->wake < 0)
		return host->fail(host, errno, "eventfd: %s", strerror(errno));
	result = host->screen_acquire(host, SCREEN_RESTORE);
	if (result)
		return host->fail(host, result, "cannot take the terminal: %s",
				  result == -EBUSY ? "in use by another sink" : strerror(-result));
	result = start_thread(live);
	if (result) {
		host->screen_release(host);
		return host->fail(host, result, "cannot start a thread: %s", strerror(result));
	}
	return 0;
}

struct live *live_start(const struct iaprof_host *host, const struct live_options *options)
{
	struct live *live = calloc(1, sizeof *live);
	if (!live) {
		host->fail(host, ENOMEM, "out of memory");
		return NULL;
	}
	live->host = host;
	live->wake = live->terminal.descriptor = -1;
	live->view = options->view;
	live->screen = (struct screen){ .charset = charset_of_user(),
					.colour = options->colour,
					.recorded = options->recorded };
	pthread_mutex_init(&live->lock, NULL);
	model_begin(&live->model, host->clock(host));
	meters_init(&live->model.meters, host->target(host)->interval, options->recorded);
	live->is_stale = true;
	if (!start(live))
		return live;
	release(live);
	return NULL;
}

void live_records(struct live *live, struct usage_records *usage, const struct iaprof_batch *batch)
{
	if (!usage_records_define(usage, batch))
		return;
	pthread_mutex_lock(&live->lock);
	usage_records_add(usage, &live->model, batch);
	pthread_mutex_unlock(&live->lock);
}

static void wake(struct live *live)
{
	if (eventfd_write(live->wake, 1)) /* fails only if the counter is full, which wakes the thread as well */
		return;
}

void live_add(struct live *live, const struct iaprof_profile *profile)
{
	pthread_mutex_lock(&live->lock);
	model_add(&live->model, profile);
	model_measure(&live->model, live->host->clock(live->host));
	live->has_news = true;
	pthread_mutex_unlock(&live->lock);
	wake(live);
}

void live_end(struct live *live, bool waits)
{
	if (!live)
		return;
	atomic_store(waits ? &live->complete : &live->end, true);
	wake(live);
	pthread_join(live->thread, NULL);
	release(live);
}
