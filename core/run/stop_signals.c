/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a run: see stop_signals.h. A signal handler can access only file-scope state. */
#include "run/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/clock.h"
#include "base/log.h"
#include "plugin/plugin_call.h"
#include "run/output/output.h"
#include "run/output/screen.h"

/* timeout(1) signals its child, and then the group that it is in: the same signal within this time is one. */
#define TOGETHER (NANOSECONDS_PER_SECOND / 4)

static struct loop *_Atomic loop_to_wake;
static atomic_int signal_received;
static atomic_uint_least64_t received_at; /* time of the first one, CLOCK_MONOTONIC ns; 0: none */
static atomic_bool reload_wanted;
static atomic_uint ignored_before; /* one bit per signal */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* Async-signal-safe. Does not wait for a reader of standard error. */
static void report_second_signal(void)
{
	static const char line[] = "iaprof: second signal: stopped at once, unfinished outputs are removed\n";
	struct pollfd standard_error = { .fd = STDERR_FILENO, .events = POLLOUT };
	if (log_level() < IAPROF_LOG_WARNING || poll(&standard_error, 1, 0) <= 0)
		return;
	ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
	(void)written;
}

static void handle(int number)
{
	int none = 0;
	uint64_t never = 0, now = clock_monotonic();
	/* Before the signal: another thread may handle the second one at the same time. */
	atomic_compare_exchange_strong(&received_at, &never, now);
	if (!atomic_compare_exchange_strong(&signal_received, &none, number) &&
	    (none != number || now > atomic_load(&received_at) + TOGETHER)) {
		output_remove_temporary_files();
		screen_restore_at_once();
		report_second_signal();
		process_exit_immediately(128 + number);
	}
	struct loop *loop = atomic_load(&loop_to_wake);
	if (loop)
		loop_wake(loop);
}

static void handle_reload(int number)
{
	atomic_store(&reload_wanted, true);
	struct loop *loop = atomic_load(&loop_to_wake);
	if (loop)
		loop_wake(loop);
}

void stop_signals_install(struct loop *loop, bool is_continuous)
{
	/* Between two runs of a continuous one, none is lost. */
	if (!is_continuous) {
		atomic_store(&signal_received, 0);
		atomic_store(&received_at, 0);
	}
	atomic_store(&loop_to_wake, loop);
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		action.sa_handler = is_continuous && signals[i] == SIGHUP ? handle_reload : handle;
		/*
		 * nohup(1) ignores SIGHUP, which stays ignored. A shell without job control ignores SIGINT of a command
		 * in the background, which would leave "kill -INT" without effect.
		 */
		struct sigaction before;
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_IGN)
			atomic_fetch_or(&ignored_before, 1u << signals[i]);
		if (signals[i] != SIGHUP || before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
#ifdef __SANITIZE_THREAD__
	/*
	 * The runtime of GCC 12 loses a signal that arrives while it prepares a thread's first blocking call: make that
	 * call before a command can run.
	 */
	poll(NULL, 0, 0);
#endif
}

void stop_signals_uninstall(struct loop *loop)
{
	atomic_compare_exchange_strong(&loop_to_wake, &loop, NULL);
}

bool stop_signals_take_reload(void)
{
	return atomic_exchange(&reload_wanted, false);
}

bool stop_signal_was_ignored(int number)
{
	return atomic_load(&ignored_before) >> number & 1;
}

int stop_signal_received(void)
{
	return atomic_load(&signal_received);
}
