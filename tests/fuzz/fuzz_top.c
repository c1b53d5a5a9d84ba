/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as keys of a terminal, and as a name in a line of one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "display_width.h"
#include "keys.h"

static void take_keys(const char *bytes, size_t size)
{
	while (size) {
		enum key key;
		size_t used = key_parse(bytes, size, &key);
		if (used > size)
			abort();
		if (!used)
			return;
		bytes += used;
		size -= used;
	}
}

static void show(const char *name, unsigned columns)
{
	struct charset charset = charset_of_user();
	struct text text = { 0 };
	if (columns_append(&text, &charset, name, columns) > columns)
		abort();
	/* A column has at most one character of four bytes and four marks, of which some take four bytes. */
	if (text.size > 20 * (size_t)columns + 16)
		abort();
	for (size_t i = 0; i < text.size; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f ||
		    (!charset.utf8 && (unsigned char)text.data[i] > 0x7f))
			abort();
	text_free(&text);
	charset_free(&charset);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, bytes, size);
	text[size] = '\0';
	take_keys(text, size);
	for (unsigned utf8 = 0; utf8 < 2; utf8++) {
		setenv("LC_ALL", utf8 ? "C.UTF-8" : "C", 1);
		show(text, size ? bytes[0] : 0);
		show(text, 200);
	}
	free(text);
	return 0;
}
