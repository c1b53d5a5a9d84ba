/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of the picture: see live.h. */
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

#include "picture.h"
#include "terminal.h"

/* How often the size of the window is asked for, and whether the run ends, in ms: a plugin handles no signals. */
#define TURN 200

struct live {
	const struct iaprof_host *host;
	struct terminal terminal;
	struct picture picture;
	int wake; /* eventfd: there is something new */
	pthread_t thread;
	atomic_bool end, complete;

	pthread_mutex_t lock; /* of the model, which the sink's thread adds to */
	struct model model;
	bool has_news;

	/* The thread's own. */
	struct view view;
	struct model frozen; /* what is shown while paused */
	bool has_frozen;
	bool is_stale; /* the picture is not what it should be */
	bool is_done;
};

static void freeze(struct live *live)
{
	if (live->has_frozen)
		model_free(&live->frozen);
	live->has_frozen = live->view.paused && model_copy(&live->frozen, &live->model);
	live->view.paused = live->has_frozen;
}

/* Until the terminal is ours, or there is nothing to show any more. */
static void wait_for_terminal(struct live *live)
{
	while (terminal_is_elsewhere(&live->terminal) && !atomic_load(&live->end) &&
	       !(atomic_load(&live->complete) && live->host->run_is_ending(live->host)))
		poll(NULL, 0, TURN);
}

/* The whole process group, as the terminal would do it; each stops a moment later, and goes on here. */
static void suspend(struct live *live)
{
	terminal_leave(&live->terminal);
	live->host->screen_release(live->host);
	kill(0, SIGTSTP);
	poll(NULL, 0, 100);
	wait_for_terminal(live);
	live->host->screen_take(live->host, PICTURE_LEAVE);
	terminal_enter(&live->terminal);
}

static void take_keys(struct live *live)
{
	enum key key;
	while (!live->is_done && (key = terminal_key(&live->terminal)) != KEY_NONE) {
		pthread_mutex_lock(&live->lock);
		const struct model *model = live->has_frozen ? &live->frozen : &live->model;
		enum view_action action = view_key(&live->view, model, key, picture_page(&live->picture));
		if (action == VIEW_PAUSE)
			freeze(live);
		pthread_mutex_unlock(&live->lock);
		if (action == VIEW_SUSPEND)
			suspend(live);
		live->is_done |= action == VIEW_QUIT;
		live->is_stale |= action != VIEW_NOTHING;
	}
}

static void draw(struct live *live)
{
	struct terminal *terminal = &live->terminal;
	pthread_mutex_lock(&live->lock);
	live->has_news = false;
	picture_append(&terminal->waiting, &live->picture, &live->view,
		       live->has_frozen ? &live->frozen : &live->model);
	pthread_mutex_unlock(&live->lock);
	if (terminal->waiting.failed) /* the next one may find memory */
		terminal->waiting.size = terminal->waiting_from = 0;
	live->is_stale = false;
}

/* What the terminal has not taken is not followed by more: what would be shown meanwhile is not drawn. */
static void show(struct live *live)
{
	struct terminal *terminal = &live->terminal;
	bool complete = atomic_load(&live->complete);
	pthread_mutex_lock(&live->lock);
	live->is_stale |= live->has_news || complete != live->picture.complete;
	pthread_mutex_unlock(&live->lock);
	live->picture.complete = complete;
	if (terminal_is_elsewhere(terminal))
		return;
	live->is_stale |= terminal_measure(terminal);
	live->picture.rows = terminal->rows;
	live->picture.columns = terminal->columns;
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
	/* What others typed for is not ours to read. */
	if (terminal_is_elsewhere(&live->terminal))
		ready[1].events = 0;
	poll(ready, 2, TURN);
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
	/* One more picture, of the last that there is, would not be seen. */
	terminal_leave(&live->terminal);
	host->screen_release(host);
	if (!atomic_load(&live->end))
		host->end_run(host);
	return NULL;
}

/* Signals are for the program's own thread. */
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
	charset_free(&live->picture.charset);
	pthread_mutex_destroy(&live->lock);
	free(live);
}

static int start(struct live *live)
{
	const struct iaprof_host *host = live->host;
	int result = terminal_open(&live->terminal);
	if (result)
		return host->fail(host, result, "open the terminal: %s: for text in each interval use top:batch=yes",
				  strerror(-result));
	live->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (live->wake < 0)
		return host->fail(host, errno, "eventfd: %s", strerror(errno));
	result = host->screen_take(host, PICTURE_LEAVE);
	if (result)
		return host->fail(host, result, "take the terminal: %s",
				  result == -EBUSY ? "another sink shows something there" : strerror(-result));
	result = start_thread(live);
	if (result) {
		host->screen_release(host);
		return host->fail(host, result, "start a thread: %s", strerror(result));
	}
	return 0;
}

struct live *live_start(const struct iaprof_host *host, const struct live_options *options)
{
	struct live *live = calloc(1, sizeof *live);
	if (!live) {
		host->fail(host, ENOMEM, "not enough memory");
		return NULL;
	}
	live->host = host;
	live->wake = live->terminal.descriptor = -1;
	live->view = options->view;
	live->picture = (struct picture){ .charset = charset_of_user(),
					  .colour = options->colour,
					  .recorded = options->recorded };
	pthread_mutex_init(&live->lock, NULL);
	model_begin(&live->model, host->clock(host));
	live->is_stale = true;
	if (!start(live))
		return live;
	release(live);
	return NULL;
}

static void wake(struct live *live)
{
	if (eventfd_write(live->wake, 1)) /* only when it is full, and then it wakes */
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
