/* SPDX-License-Identifier: Apache-2.0 */
/* See repeated_messages.h. */
#include "base/repeated_messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Replaces each number by '0' and each absolute path by '/'. */
static void make_cause(char *text)
{
	char *to = text;
	for (char before = ' '; *text; before = to[-1]) {
		bool is_path = *text == '/' && before == ' ';
		bool is_number = isdigit((unsigned char)*text);
		*to++ = is_number ? '0' : *text;
		text += is_number ? strspn(text, "0123456789") : 1;
		if (is_path)
			text += strcspn(text, " :");
	}
	*to = '\0';
}

bool repeated_messages_add(struct repeated_messages *messages, const char *text)
{
	CLEANUP_FREE char *cause = strstr(text, "cannot ") ? strdup(text) : NULL;
	if (!cause)
		return false;
	make_cause(cause);
	for (uint32_t i = 0; i < messages->count; i++)
		if (!strcmp(messages->items[i].cause, cause)) {
			messages->items[i].more++;
			return true;
		}
	char *copy = messages->count < REPEATED_MESSAGES_MAX ? strdup(text) : NULL;
	if (copy)
		messages->items[messages->count++] =
			(struct repeated_message){ .cause = STEAL_POINTER(cause), .text = copy };
	return false;
}

void repeated_messages_clear(struct repeated_messages *messages)
{
	for (uint32_t i = 0; i < messages->count; i++) {
		free(messages->items[i].cause);
		free(messages->items[i].text);
	}
	messages->count = 0;
}
