/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as they can stand in a page: deflated, in base64. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_TEXT_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_TEXT_H

#include "common/text.h"

/* Appends the bytes as gzip (RFC 1952) in base64 (RFC 4648), on one line. text->failed: out of memory. */
void page_text_append(struct text *text, const char *bytes, size_t size);

#endif
