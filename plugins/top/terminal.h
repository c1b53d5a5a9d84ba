/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal that standard output is: its modes, its size, keys, and bytes for it, none of which ever waits for it.
 * Not curses: its writes wait for a terminal that stands still, and its signal handlers and state are the program's,
 * not a plugin's.
 */
#ifndef IAPROF_PLUGINS_TOP_TERMINAL_H
#define IAPROF_PLUGINS_TOP_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "common/text.h"
#include "keys.h"

struct terminal {
	int descriptor; /* -1: none */
	bool is_entered, is_gone;
	struct termios before;
	unsigned rows, columns;
	struct text waiting; /* bytes that it has not taken */
	size_t waiting_from;
	char keys[64]; /* that were read */
	size_t key_count;
};

/* Why there is no picture on standard output: NULL when there can be one. */
const char *terminal_refusal(void);

/* Opens it once more, for modes of our own. 0 or a negative errno. */
int terminal_open(struct terminal *terminal);
void terminal_close(struct terminal *terminal);

/* Whether somebody else has the terminal now, as after Ctrl-Z and bg. */
bool terminal_is_elsewhere(const struct terminal *terminal);
/* Keys one by one, without echo; the screen that picture.h says. */
void terminal_enter(struct terminal *terminal);
/* Gives it back as it was; waits at most a second for it to take that. */
void terminal_leave(struct terminal *terminal);

/* Asks for its size. True: it is another one than before. */
bool terminal_measure(struct terminal *terminal);
/* The next key; KEY_NONE: there is none, or is_gone. */
enum key terminal_key(struct terminal *terminal);
/* Writes what it takes of what waits. */
void terminal_flush(struct terminal *terminal);
bool terminal_is_waiting(const struct terminal *terminal);

#endif
