/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the format of a file by its beginning. */
#pragma once

#include "text_profile.h"

/* Number of bytes that is sufficient for detection. */
#define TEXT_FORMAT_SIZE ((size_t)64 << 10)

/* What editors on Windows write at the beginning of UTF-8. */
#define TEXT_BYTE_ORDER_MARK "\xef\xbb\xbf"

enum text_format {
	TEXT_FORMAT_MORE,    /* more bytes are needed */
	TEXT_FORMAT_NONE,    /* none of these */
	TEXT_FORMAT_CAPTURE, /* not text: written by sink capture */
	TEXT_FORMAT_FOLDED,
	TEXT_FORMAT_PERF_SCRIPT,
	TEXT_FORMAT_STREAM
};

/*
 * Of the first lines that are neither empty nor comments, this many are examined. A text is a profile if at least half
 * of them have the form of its format, so that a few damaged lines do not matter.
 */
#define TEXT_FORMAT_LINES 100

/*
 * is_whole: there are no more bytes, or TEXT_FORMAT_SIZE are available; the result is then never TEXT_FORMAT_MORE.
 * strange: set to the first line that has no known form if the result is TEXT_FORMAT_NONE; its number is 0 if there is
 * none. NULL: not needed.
 */
enum text_format text_format_of(const char *bytes, size_t size, bool is_whole, struct text_line *strange);
