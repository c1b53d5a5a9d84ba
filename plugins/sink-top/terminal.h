/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of standard output: modes, size, keys and output, without blocking. Curses is not used because it blocks
 * on a stopped terminal and has process-wide signal handlers and state.
 */
#pragma once

#include <stdbool.h>
#include <termios.h>

#include "text/text.h"
#include "keys.h"

struct terminal {
	int descriptor; /* -1: none */
	bool is_entered, is_gone;
	struct termios before;
	unsigned rows, columns;
	struct text waiting; /* bytes not yet written */
	size_t waiting_from;
	char keys[64]; /* received keys */
	size_t key_count;
};

/* Returns the reason why standard output cannot show a screen, or NULL. */
const char *terminal_refusal(void);

/* Opens the terminal again, to have separate modes. Returns 0 or a negative errno. */
int terminal_open(struct terminal *terminal);
void terminal_close(struct terminal *terminal);

/* Returns whether another process group is in the foreground, as after Ctrl-Z and bg. */
bool terminal_is_elsewhere(const struct terminal *terminal);
/* Enables single keys without echo, and enters the screen (screen.h). */
void terminal_enter(struct terminal *terminal);
/* Restores the terminal; waits at most a second for pending output. */
void terminal_restore(struct terminal *terminal);

/* Queries the window size. Returns whether it has changed. */
bool terminal_measure(struct terminal *terminal);
/* Returns the next key, or KEY_NONE if there is none or the terminal is gone. */
enum key terminal_key(struct terminal *terminal);
/* Returns whether a lone Escape is pending, which is then taken: nothing has followed it for a while. */
bool terminal_take_escape(struct terminal *terminal);
/* Writes as much pending output as the terminal accepts. */
void terminal_flush(struct terminal *terminal);
bool terminal_is_waiting(const struct terminal *terminal);
