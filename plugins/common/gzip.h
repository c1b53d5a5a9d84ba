/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as gzip. */
#ifndef IAPROF_PLUGINS_COMMON_GZIP_H
#define IAPROF_PLUGINS_COMMON_GZIP_H

#include "common/text.h"

/* Appends the bytes as one member of gzip (RFC 1952), without a name or time. text->failed: out of memory. */
void gzip_append(struct text *text, const char *bytes, size_t size);

#endif
