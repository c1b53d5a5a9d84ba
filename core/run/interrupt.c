/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a run: see interrupt.h. A handler can reach nothing but file-scope state. */
#include "run/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "plugin/plugin_call.h"
#include "run/output.h"
#include "run/screen.h"

static struct loop *_Atomic loop_to_wake;
static atomic_int signal_received;

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void handle(int number)
{
	int none = 0;
	if (!atomic_compare_exchange_strong(&signal_received, &none, number)) {
		output_remove_temporary_files();
		screen_restore_at_once();
		process_leave(128 + number);
	}
	struct loop *loop = atomic_load(&loop_to_wake);
	if (loop)
		loop_wake(loop);
}

void interrupt_install(struct loop *loop)
{
	atomic_store(&signal_received, 0);
	atomic_store(&loop_to_wake, loop);
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		/* What the caller had ignored (nohup) stays ignored. */
		struct sigaction before;
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
#ifdef __SANITIZE_THREAD__
	/* The runtime of GCC 12 loses a signal that comes while it prepares a thread's first call that may block: this
	 * is the first one, when no command can have been seen to run yet. */
	poll(NULL, 0, 0);
#endif
}

void interrupt_uninstall(void)
{
	atomic_store(&loop_to_wake, NULL);
}

int interrupt_signal(void)
{
	return atomic_load(&signal_received);
}
