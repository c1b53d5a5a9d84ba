/* SPDX-License-Identifier: Apache-2.0 */
/* See counter_name.h. */
#include "records/counter_name.h"

#include <inttypes.h>

void counter_name_append(struct text *text, const char *name, const char *engine, const char *labels, uint32_t pid)
{
	const char *separator = " [";
	text_append_string(text, name);
	if (*engine) {
		text_append_format(text, "%s%s", separator, engine);
		separator = ", ";
	}
	if (*labels) {
		text_append_format(text, "%s%s", separator, labels);
		separator = ", ";
	}
	if (pid)
		text_append_format(text, "%sprocess %" PRIu32, separator, pid);
	text_append_string(text, *engine || *labels || pid ? "]" : "");
}
