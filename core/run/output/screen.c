/* SPDX-License-Identifier: Apache-2.0 */
/* Full-screen use of the terminal by a sink: see screen.h. A signal handler can access only file-scope state. */
#include "run/output/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"

static atomic_flag taken = ATOMIC_FLAG_INIT;
static atomic_bool restorable; /* modes and restoring are set */
static struct termios modes;
static char restoring[256];

int screen_acquire(const char *restore)
{
	struct termios now;
	if (strlen(restore) >= sizeof restoring)
		return -EINVAL;
	if (tcgetattr(STDOUT_FILENO, &now))
		return -ENOTTY;
	if (atomic_flag_test_and_set(&taken))
		return -EBUSY;
	modes = now;
	strcpy(restoring, restore);
	atomic_store(&restorable, true);
	log_hold(isatty(STDERR_FILENO));
	return 0;
}

void screen_release(void)
{
	atomic_store(&restorable, false);
	log_hold(false);
	atomic_flag_clear(&taken);
}

void screen_restore_at_once(void)
{
	if (!atomic_load(&restorable))
		return;
	/* Does not block if Ctrl-S has stopped the terminal. */
	struct pollfd terminal = { .fd = STDOUT_FILENO, .events = POLLOUT };
	if (poll(&terminal, 1, 0) == 1 && terminal.revents & POLLOUT &&
	    write(STDOUT_FILENO, restoring, strlen(restoring)) < 0)
		return;
	tcsetattr(STDOUT_FILENO, TCSANOW, &modes);
}
