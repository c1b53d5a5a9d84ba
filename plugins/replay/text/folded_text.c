/* SPDX-License-Identifier: Apache-2.0 */
/* See folded_text.h. */
#include "folded_text.h"

#include "folded_frames.h"
#include "text/text_span.h"

/* Splits a line into the last word and the text before it. */
static bool split(struct text_span line, struct text_span *stack, struct text_span *value)
{
	size_t blank = line.length;
	while (blank > 0 && !is_blank(line.text[blank - 1]))
		blank--;
	*value = span_part(line, blank, line.length);
	*stack = span_trim(span_part(line, 0, blank));
	return blank > 0;
}

/* Parses a value, which may have a fraction, as flamegraph.pl accepts it. Returns NULL, or what is wrong. */
static const char *read_value(struct text_span text, uint64_t *value, bool *has_fraction)
{
	const char *point = text.length ? memchr(text.text, '.', text.length) : NULL;
	size_t whole = point ? (size_t)(point - text.text) : text.length;
	*has_fraction = false;
	for (size_t i = whole + 1; i < text.length; i++) {
		if (!is_digit(text.text[i]))
			return "does not end with a value";
		*has_fraction |= text.text[i] != '0';
	}
	for (size_t i = 0; i < whole; i++)
		if (!is_digit(text.text[i]))
			return text.text[0] == '-' ? "has a negative value" : "does not end with a value";
	if (!whole)
		return "does not end with a value";
	if (!span_decimal(span_part(text, 0, whole), value))
		return "has a value above 18446744073709551615";
	if (*has_fraction && whole + 1 < text.length && text.text[whole + 1] >= '5' && *value < UINT64_MAX)
		++*value;
	return NULL;
}

bool folded_text_is(struct text_span line)
{
	struct text_span stack, text;
	uint64_t value;
	bool has_fraction;
	return split(span_trim(line), &stack, &text) && stack.length && !read_value(text, &value, &has_fraction);
}

bool folded_text_has_form(struct text_span line)
{
	struct text_span stack, value;
	if (!split(span_trim(line), &stack, &value) || !stack.length || !value.length)
		return false;
	size_t sign = value.text[0] == '-' || value.text[0] == '+';
	for (size_t i = sign; i < value.length; i++)
		if (!is_digit(value.text[i]) && value.text[i] != '.')
			return false;
	if (value.length == sign || value.text[sign] == '.')
		return false;
	struct text_span rest = stack;
	return memchr(stack.text, ';', stack.length) ||
	       (span_take_word(&rest).length == stack.length && stack.text[stack.length - 1] != ':');
}

/* "[lost];SOURCE;REASON" is not a stack. */
static bool is_lost(const struct text_frame *frames, uint32_t count)
{
	return count == 3 && span_is(frames[0].name, "[lost]");
}

int folded_text_line(struct folded_text *folded, const struct text_line *line)
{
	const struct text_taker *taker = folded->taker;
	struct text_span text = line->wrong ? line->text : span_trim(line->text), stack = { 0 }, number = { 0 };
	struct text_sample sample = { .frames = folded->frames };
	bool has_fraction = false;
	if (!line->wrong && (!text.length || span_is_comment(text)))
		return 0;
	const char *why = line->wrong;
	if (!why && (!split(text, &stack, &number) || !stack.length))
		why = "has no stack and value";
	if (!why)
		why = read_value(number, &sample.value, &has_fraction);
	if (why) {
		if (taker->refuse)
			taker->refuse(taker->context, line, why);
		return 0;
	}
	folded->rounded += has_fraction;
	sample.frame_count = folded_frames_read(stack, folded->frames, &sample.is_cut);
	if (!is_lost(folded->frames, sample.frame_count))
		return taker->sample ? taker->sample(taker->context, &sample) : 0;
	struct text_lost lost = { .source = folded->frames[1].name,
				  .reason = folded->frames[2].name,
				  .count = IAPROF_COUNT_UNKNOWN,
				  .value = sample.value };
	return taker->lost ? taker->lost(taker->context, &lost) : 0;
}
