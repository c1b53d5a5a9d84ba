/* SPDX-License-Identifier: Apache-2.0 */
/* Non-blocking terminal: see terminal.h. */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "screen.h"

/* Longest wait for a blocked terminal at the end, ms. */
#define RESTORE_TIMEOUT 1000

const char *terminal_refusal(void)
{
	const char *type = getenv("TERM");
	if (!isatty(STDOUT_FILENO))
		return "standard output is not a terminal (use top:batch=yes for text)";
	if (!type || !*type || !strcmp(type, "dumb"))
		return "the terminal (TERM) cannot position text (use top:batch=yes for text)";
	return NULL;
}

/* Reopened, because O_NONBLOCK would affect every process that shares standard output, such as the shell. */
int terminal_open(struct terminal *terminal)
{
	terminal->descriptor = open("/proc/self/fd/1", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (terminal->descriptor < 0)
		terminal->descriptor = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (terminal->descriptor < 0)
		return -errno;
	return tcgetattr(terminal->descriptor, &terminal->before) ? -errno : 0;
}

void terminal_close(struct terminal *terminal)
{
	if (terminal->descriptor >= 0)
		close(terminal->descriptor);
	terminal->descriptor = -1;
	text_free(&terminal->waiting);
}

bool terminal_is_elsewhere(const struct terminal *terminal)
{
	pid_t foreground = tcgetpgrp(terminal->descriptor); /* -1: it is not the controlling terminal */
	return foreground >= 0 && foreground != getpgrp();
}

void terminal_enter(struct terminal *terminal)
{
	struct termios modes = terminal->before;
	/* Ctrl-C remains a signal. Ctrl-Z is a key, so that the screen can be restored first. */
	modes.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	modes.c_cc[VSUSP] = _POSIX_VDISABLE;
	modes.c_cc[VQUIT] = _POSIX_VDISABLE;
	if (tcsetattr(terminal->descriptor, TCSANOW, &modes))
		terminal->is_gone = true;
	text_append_string(&terminal->waiting, SCREEN_ENTER);
	terminal->is_entered = true;
}

void terminal_restore(struct terminal *terminal)
{
	if (!terminal->is_entered)
		return;
	terminal->is_entered = false;
	text_append_string(&terminal->waiting, SCREEN_RESTORE);
	for (int waited = 0; terminal_is_waiting(terminal) && waited < RESTORE_TIMEOUT; waited += 10) {
		struct pollfd ready = { .fd = terminal->descriptor, .events = POLLOUT };
		terminal_flush(terminal);
		if (terminal_is_waiting(terminal))
			poll(&ready, 1, 10);
	}
	tcsetattr(terminal->descriptor, TCSANOW, &terminal->before);
}

bool terminal_measure(struct terminal *terminal)
{
	struct winsize size = { 0 };
	unsigned rows = 24, columns = 80;
	if (!ioctl(terminal->descriptor, TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
		rows = size.ws_row;
		columns = size.ws_col;
	}
	bool has_changed = rows != terminal->rows || columns != terminal->columns;
	terminal->rows = rows;
	terminal->columns = columns;
	return has_changed;
}

enum key terminal_key(struct terminal *terminal)
{
	enum key key = KEY_NONE;
	while (key == KEY_NONE) {
		size_t used = terminal->key_count ? key_parse(terminal->keys, terminal->key_count, &key) : 0;
		terminal->key_count -= used;
		memmove(terminal->keys, terminal->keys + used, terminal->key_count);
		if (used)
			continue;
		if (terminal->key_count == sizeof terminal->keys)
			terminal->key_count = 0; /* unterminated sequence */
		ssize_t count = read(terminal->descriptor, terminal->keys + terminal->key_count,
				     sizeof terminal->keys - terminal->key_count);
		if (count <= 0) {
			/* EIO: in the background, or the terminal is gone, which poll() reports. */
			terminal->is_gone |= count == 0;
			return KEY_NONE;
		}
		terminal->key_count += (size_t)count;
	}
	return key;
}

bool terminal_take_escape(struct terminal *terminal)
{
	bool is_escape = terminal->key_count == 1 && terminal->keys[0] == '\033';
	terminal->key_count -= is_escape;
	return is_escape;
}

bool terminal_is_waiting(const struct terminal *terminal)
{
	return terminal->waiting_from < terminal->waiting.size;
}

void terminal_flush(struct terminal *terminal)
{
	while (terminal_is_waiting(terminal)) {
		ssize_t count = write(terminal->descriptor, terminal->waiting.data + terminal->waiting_from,
				      terminal->waiting.size - terminal->waiting_from);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return;
		if (count < 0)
			terminal->is_gone = true;
		terminal->waiting_from = count < 0 ? terminal->waiting.size : terminal->waiting_from + (size_t)count;
	}
	terminal->waiting.size = terminal->waiting_from = 0;
	terminal->waiting.failed = false;
}
