/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file has, by how it begins. */
#ifndef IAPROF_PLUGINS_REPLAY_TEXT_FORMAT_H
#define IAPROF_PLUGINS_REPLAY_TEXT_FORMAT_H

#include "text_profile.h"

/* So many bytes are enough to tell. */
#define TEXT_FORMAT_SIZE ((size_t)64 << 10)

enum text_format {
	TEXT_FORMAT_MORE,    /* more bytes can tell */
	TEXT_FORMAT_NONE,    /* none of these */
	TEXT_FORMAT_CAPTURE, /* no text: sink capture wrote it */
	TEXT_FORMAT_FOLDED,
	TEXT_FORMAT_PERF_SCRIPT,
	TEXT_FORMAT_STREAM
};

/* is_whole: there are no more bytes, or TEXT_FORMAT_SIZE are there; then it is never TEXT_FORMAT_MORE. */
enum text_format text_format_of(const char *bytes, size_t size, bool is_whole);

#endif
