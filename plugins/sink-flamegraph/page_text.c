/* SPDX-License-Identifier: Apache-2.0 */
/* See page_text.h. */
#include "page_text.h"

#include "base/gzip.h"

static void append_base64(struct text *text, const unsigned char *bytes, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (!text_reserve(text, (size + 2) / 3 * 4))
		return;
	char *out = text->data + text->size;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		unsigned bits = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
				(left > 2 ? bytes[i + 2] : 0);
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[bits & 63] : '=';
	}
	text->size = (size_t)(out - text->data);
}

void page_text_append(struct text *text, const char *bytes, size_t size)
{
	struct text compressed = { 0 };
	gzip_append(&compressed, bytes, size);
	text->failed |= compressed.failed;
	append_base64(text, (const unsigned char *)compressed.data, compressed.failed ? 0 : compressed.size);
	text_free(&compressed);
}
