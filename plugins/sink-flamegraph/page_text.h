/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes bytes for a page: gzip and base64. */
#pragma once

#include "text/text.h"

/* Appends the bytes as gzip (RFC 1952) in base64 (RFC 4648), on one line. Sets text->failed if out of memory. */
void page_text_append(struct text *text, const char *bytes, size_t size);
