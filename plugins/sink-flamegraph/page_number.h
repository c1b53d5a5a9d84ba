/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in LEB128: 7 bits per byte, the least significant first, the highest bit: more follow. */
#pragma once

#include <stdint.h>

#include "text/text.h"

static inline void page_number_append(struct text *text, uint64_t number)
{
	char bytes[10];
	size_t size = 0;
	do {
		bytes[size++] = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		number >>= 7;
	} while (number);
	text_append(text, bytes, size);
}
