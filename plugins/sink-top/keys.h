/* SPDX-License-Identifier: Apache-2.0 */
/* Parses key sequences of terminals (ECMA-48, and the arrow keys of xterm and VT100). */
#pragma once

#include <stddef.h>

/* Letters and control characters are their own codes. */
enum key {
	KEY_NONE = 0, /* unknown sequence */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_BACK_TAB,
	KEY_ESCAPE, /* the key alone, which only time distinguishes from the start of a sequence */
	KEY_F1,     /* F2 to F10 follow */
	KEY_F10 = KEY_F1 + 9
};

/* Parses the first key of size (>= 1) bytes and returns its length; 0: the sequence is incomplete. */
size_t key_parse(const char *bytes, size_t size, enum key *key);
