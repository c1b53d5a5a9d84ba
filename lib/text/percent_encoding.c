/* SPDX-License-Identifier: Apache-2.0 */
/* See percent_encoding.h. */
#include "text/percent_encoding.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t percent_decode(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++, to++) {
		char digits[3] = "";
		if (from[0] == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
			memcpy(digits, from + 1, 2);
			*to = (char)strtoul(digits, NULL, 16);
			from += 2;
		} else {
			*to = *from;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

char *text_trim(char *text)
{
	text += strspn(text, " \t");
	for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]); length--)
		text[length - 1] = '\0';
	return text;
}
