/* SPDX-License-Identifier: Apache-2.0 */
/* Parses keys: see keys.h. */
#include "keys.h"

#include <stdbool.h>
#include <stdint.h>

#define ESCAPE '\033'

static enum key key_of_letter(char letter)
{
	switch (letter) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	case 'H':
		return KEY_HOME;
	case 'F':
		return KEY_END;
	case 'Z':
		return KEY_BACK_TAB;
	case 'P':
	case 'Q':
	case 'R':
	case 'S':
		return (enum key)(KEY_F1 + (letter - 'P'));
	default:
		return KEY_NONE;
	}
}

static enum key key_of_number(unsigned number)
{
	static const uint16_t keys[] = {
		[1] = KEY_HOME,    [4] = KEY_END,     [5] = KEY_PAGE_UP, [6] = KEY_PAGE_DOWN,
		[7] = KEY_HOME,    [8] = KEY_END,     [11] = KEY_F1,     [12] = KEY_F1 + 1,
		[13] = KEY_F1 + 2, [14] = KEY_F1 + 3, [15] = KEY_F1 + 4, [17] = KEY_F1 + 5,
		[18] = KEY_F1 + 6, [19] = KEY_F1 + 7, [20] = KEY_F1 + 8, [21] = KEY_F1 + 9,
	};
	return number < sizeof keys / sizeof *keys ? (enum key)keys[number] : KEY_NONE;
}

/* ESC [, parameters, a letter or ~; or ESC O and a letter. */
static size_t parse_sequence(const char *bytes, size_t size, enum key *key)
{
	unsigned number = 0;
	bool is_first = true;
	*key = KEY_NONE;
	if (bytes[1] == 'O') {
		if (size < 3)
			return 0;
		*key = key_of_letter(bytes[2]);
		return 3;
	}
	/* ESC [ [ A to E: F1 to F5 of the Linux console. */
	if (size > 2 && bytes[2] == '[') {
		if (size < 4)
			return 0;
		*key = bytes[3] >= 'A' && bytes[3] <= 'E' ? (enum key)(KEY_F1 + (bytes[3] - 'A')) : KEY_NONE;
		return 4;
	}
	for (size_t i = 2; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		/* The first parameter is the key, the second one the modifiers. */
		is_first &= byte != ';';
		if (is_first && byte >= '0' && byte <= '9')
			number = number < 1000 ? number * 10 + byte - '0' : number;
		if (byte >= 0x40 && byte <= 0x7e) { /* the final byte of a control sequence */
			*key = byte == '~' ? key_of_number(number) : key_of_letter(bytes[i]);
			return i + 1;
		}
		if (byte < 0x20 || byte > 0x7e) /* not a control sequence after all */
			return i;
	}
	return 0;
}

size_t key_parse(const char *bytes, size_t size, enum key *key)
{
	*key = KEY_NONE;
	if (bytes[0] != ESCAPE) {
		*key = (unsigned char)bytes[0] < 0x80 ? (enum key)bytes[0] : KEY_NONE;
		return 1;
	}
	if (size < 2)
		return 0;
	return bytes[1] == '[' || bytes[1] == 'O' ? parse_sequence(bytes, size, key) : 1;
}
