/* SPDX-License-Identifier: Apache-2.0 */
/* See finding_text.h. */
#include "stacks/finding_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Returns whether the word that begins at name is an acronym. */
static bool is_acronym(const char *name, size_t length)
{
	static const char *const acronyms[] = { "npu", "gpu", "cpu", "ipc", "dma", "mmu", "bpf" };
	for (size_t i = 0; i < sizeof acronyms / sizeof *acronyms; i++)
		if (strlen(acronyms[i]) == length && !strncasecmp(acronyms[i], name, length))
			return true;
	return false;
}

void finding_append_title(struct text *text, const char *name)
{
	struct text title = { 0 };
	for (const char *at = name; *at;) {
		size_t length = strcspn(at, "- ");
		bool whole = is_acronym(at, length);
		for (size_t i = 0; i < length; i++) {
			char letter = whole || (!i && at == name) ? (char)toupper((unsigned char)at[i]) : at[i];
			text_append(&title, &letter, 1);
		}
		at += length;
		if (*at) {
			text_append_string(&title, " ");
			at++;
		}
	}
	text->failed |= title.failed;
	text_append_name(text, text_string(&title));
	text_free(&title);
}

void finding_append_sentence(struct text *text, const char *finding)
{
	struct text sentence = { 0 };
	size_t begin = text->size, word = strcspn(finding, " ,:");
	bool is_word = true;
	for (size_t i = 0; i < word; i++)
		is_word &= islower((unsigned char)finding[i]) != 0;
	text_append_string(&sentence, finding);
	if (is_word && word && !sentence.failed)
		sentence.data[0] = (char)toupper((unsigned char)sentence.data[0]);
	text->failed |= sentence.failed;
	text_append_name(text, text_string(&sentence));
	text_free(&sentence);
	if (!text->failed && text->size > begin && !strchr(".!?", text->data[text->size - 1]))
		text_append_string(text, ".");
}
