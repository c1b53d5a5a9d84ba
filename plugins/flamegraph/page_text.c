/* SPDX-License-Identifier: Apache-2.0 */
/* See page_text.h. */
#include "page_text.h"

#include <string.h>
#include <zlib.h>

/* A multiple of 3: only the end of the last piece needs padding. */
#define PIECE (3u * 16384)

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
	unsigned char piece[PIECE];
	z_stream stream = { .next_out = piece, .avail_out = PIECE };
	int result;

	/* 15 bits of window, + 16: with the header of gzip. */
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		text->failed = true;
		return;
	}
	do {
		if (stream.avail_in == 0) { /* zlib counts in 32 bits */
			stream.avail_in = size < 1u << 30 ? (uInt)size : 1u << 30;
			stream.next_in = (unsigned char *)(uintptr_t)bytes;
			bytes += stream.avail_in;
			size -= stream.avail_in;
		}
		result = deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
		if (stream.avail_out == 0 || result == Z_STREAM_END) {
			append_base64(text, piece, PIECE - stream.avail_out);
			stream.next_out = piece;
			stream.avail_out = PIECE;
		}
	} while (result == Z_OK && !text->failed);
	text->failed |= result != Z_STREAM_END;
	deflateEnd(&stream);
}
