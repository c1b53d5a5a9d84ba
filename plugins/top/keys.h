/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal sends for keys (ECMA-48, and the arrow keys of xterm and VT100). */
#ifndef IAPROF_PLUGINS_TOP_KEYS_H
#define IAPROF_PLUGINS_TOP_KEYS_H

#include <stddef.h>

/* Letters and control characters are themselves. */
enum key {
	KEY_NONE = 0, /* nothing that is known */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_BACK_TAB
};

/* The first key of so many bytes (>= 1), and how many of them it takes; 0: the rest of it has not come yet. */
size_t key_parse(const char *bytes, size_t size, enum key *key);

#endif
