/* SPDX-License-Identifier: Apache-2.0 */
/* See wrapped_text.h. */
#include "config/wrapped_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void wrapped_text_write(const char *text, size_t first_column, size_t column, size_t width, FILE *file)
{
	bool first = true;
	while (*text) {
		size_t length = width ? strcspn(text, " ") : strlen(text);
		if (!first && column + 1 + length > width) {
			fputc('\n', file);
			column = 0;
			first = true;
		}
		if (first)
			fprintf(file, "%*s", (int)(first_column > column ? first_column - column : 0), "");
		else
			fputc(' ', file);
		column = (first && column < first_column ? first_column : column + (first ? 0 : 1)) + length;
		fprintf(file, "%.*s", (int)length, text);
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', file);
}
