/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of lists as OpenTelemetry's variables have them: "key=value,key=value", percent-encoded, with blanks. */
#pragma once

#include <stddef.h>

/* Decodes %HH in place; other % remain. Returns the length, which exceeds strlen() if the text has %00. */
size_t percent_decode(char *text);
/* Removes whitespace at the end, in place. Returns the text behind the blanks at its beginning. */
char *text_trim(char *text);
