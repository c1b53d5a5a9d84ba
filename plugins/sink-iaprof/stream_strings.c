/* SPDX-License-Identifier: Apache-2.0 */
/* See stream_strings.h. */
#include "stream_strings.h"

#include <inttypes.h>

uint32_t stream_strings_id(struct stream_strings *strings, const struct text *text)
{
	bool is_new = false;
	if (!text->size && !text->failed)
		return STREAM_UNKNOWN;
	uint32_t id = text->failed ? 0 : string_table_add(&strings->texts, text->data, text->size, &is_new);
	if (is_new) {
		text_append_format(&strings->new_lines, "string\t%" PRIu32 "\t", id);
		text_append(&strings->new_lines, text->data, text->size);
		text_append_string(&strings->new_lines, "\n");
	}
	strings->failed |= !id || strings->new_lines.failed;
	return id;
}

void stream_strings_free(struct stream_strings *strings)
{
	string_table_free(&strings->texts);
	text_free(&strings->new_lines);
}
