/* SPDX-License-Identifier: Apache-2.0 */
/* See gzip.h. */
#include "base/gzip.h"

#include <zlib.h>

/* Growth step of the output. */
#define PIECE (64u << 10)

void gzip_append(struct text *text, const char *bytes, size_t size)
{
	z_stream stream = { 0 };
	int result = Z_OK;

	/* A window of 15 bits; + 16: with a gzip header. */
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		text->failed = true;
		return;
	}
	while (result == Z_OK && text_reserve(text, PIECE)) {
		if (stream.avail_in == 0) { /* zlib's counts have 32 bits */
			stream.avail_in = size < 1u << 30 ? (uInt)size : 1u << 30;
			stream.next_in = (unsigned char *)(uintptr_t)bytes;
			bytes += stream.avail_in;
			size -= stream.avail_in;
		}
		stream.next_out = (unsigned char *)text->data + text->size;
		stream.avail_out = PIECE;
		result = deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
		text->size += PIECE - stream.avail_out;
	}
	text->failed |= result != Z_STREAM_END;
	deflateEnd(&stream);
}
