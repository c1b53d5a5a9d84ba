/* SPDX-License-Identifier: Apache-2.0 */
/* gzip compression. */
#ifndef IAPROF_LIB_BASE_GZIP_H
#define IAPROF_LIB_BASE_GZIP_H

#include "text/text.h"

/* Appends the bytes as one gzip member (RFC 1952), without a name or time. Sets text->failed if out of memory. */
void gzip_append(struct text *text, const char *bytes, size_t size);

#endif
