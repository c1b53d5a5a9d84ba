/* SPDX-License-Identifier: Apache-2.0 */
/* gzip compression. */
#pragma once

#include "text/text.h"

/* Appends the bytes as one gzip member (RFC 1952), without a name or time. Sets text->failed if out of memory. */
void gzip_append(struct text *text, const char *bytes, size_t size);
