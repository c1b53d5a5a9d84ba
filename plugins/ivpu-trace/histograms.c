/* SPDX-License-Identifier: Apache-2.0 */
/* See histograms.h. */
#include <ctype.h>
#include "base/saturating.h"
#include "clock.h"
#include "histograms.h"

/* Returns the unit in a name such as "usecs", "latency_us" or "Latency (microseconds):", "" if there is none. */
static const char *unit_in(struct text_span text)
{
	for (size_t end = text.length, begin; end; end = begin) {
		while (end && !isalpha((unsigned char)text.text[end - 1]))
			end--;
		for (begin = end; begin && isalpha((unsigned char)text.text[begin - 1]);)
			begin--;
		uint64_t unit = end > begin ? trace_unit_find(span_part(text, begin, end)) : 0;
		if (unit)
			return trace_unit_name(unit, true);
	}
	return "";
}

/* Begins the histogram of a title such as "@usecs[ivpu_open]", without "@". */
static void histogram_begin(struct trace_histograms *histograms, struct text_span title)
{
	struct text_span rest = title, map;
	size_t length = title.length < TRACE_NAME_SIZE_MAX ? title.length : TRACE_NAME_SIZE_MAX;
	for (size_t i = 0; i < length; i++)
		histograms->title[i] = isprint((unsigned char)title.text[i]) ? title.text[i] : '?';
	histograms->title[length] = '\0';
	histograms->unit = span_take_field(&rest, '[', &map) ? unit_in(map) : "";
	if (!*histograms->unit && histograms->unit_before)
		histograms->unit = histograms->unit_before;
	histograms->unit_before = NULL;
	histograms->current = NULL;
}

bool trace_histograms_parse_title(struct trace_histograms *histograms, struct text_span text)
{
	if (!span_ends(text, ":"))
		return false;
	if (span_begins(text, "@")) {
		histogram_begin(histograms, span_part(text, 1, text.length - 1));
		return true;
	}
	/* "Buffer Allocation Latency (microseconds):", but not the beginning of a torn line. */
	if (!isupper((unsigned char)*text.text) || !memchr(text.text, ' ', text.length))
		return false;
	histograms->unit_before = unit_in(text);
	return true;
}

/* Finds or adds the histogram of the title, whose buckets are replaced. Returns NULL if there are too many. */
static struct trace_histogram *histogram_get(struct trace_histograms *histograms)
{
	struct trace_histogram *item = histograms->items, *end = item + histograms->count;
	while (item < end && strcmp(item->name, histograms->title) != 0)
		item++;
	if (item == end && histograms->count == TRACE_HISTOGRAMS_MAX)
		return NULL;
	if (item == end) {
		histograms->count++;
		memcpy(item->name, histograms->title, sizeof item->name);
		item->unit = histograms->unit;
	}
	memset(item->buckets, 0, sizeof item->buckets);
	return item;
}

/* Parses "4", "4K" or "4M". */
static bool bound_parse(struct text_span *text, uint64_t *number)
{
	static const char *const suffixes = "KMGTPE";
	if (!span_take_decimal(text, number))
		return false;
	const char *suffix = text->length && *text->text ? strchr(suffixes, *text->text) : NULL;
	if (!suffix)
		return true;
	*text = span_part(*text, 1, text->length);
	return !__builtin_mul_overflow(*number, UINT64_C(1) << 10 * (suffix - suffixes + 1), number);
}

bool trace_histograms_parse_bucket(struct trace_histograms *histograms, struct text_span text, struct trace_line *line)
{
	uint64_t low, high = 0, count;
	bool is_negative = span_begins(text, "(...");
	if (text.length < 2 || text.text[text.length - 1] != '|' || !memchr(text.text, '|', text.length - 1))
		return false;
	if (is_negative) {
		trace_line_refuse(line, "negative values of a histogram");
		return true;
	}
	if (!span_take(&text, "[") || !bound_parse(&text, &low))
		return false;
	bool is_single = !span_take(&text, ",");
	text = span_trim(text);
	if ((!is_single && !bound_parse(&text, &high)) || (!span_take(&text, ")") && !span_take(&text, "]")))
		return false;
	text = span_trim(text);
	if (!span_take_decimal(&text, &count))
		return false;
	if (!histograms->title[0])
		trace_line_refuse(line, "a bucket without its histogram");
	else if ((is_single ? low > 1 : low & (low - 1) || low < 2 || high / 2 != low))
		trace_line_refuse(line, "a linear histogram");
	else if (!histograms->current && !(histograms->current = histogram_get(histograms)))
		trace_line_refuse(line, "more than 64 histograms");
	else
		/* The values 0 and 1 have a bucket each in bpftrace, and share the first one here. */
		saturating_increase(&histograms->current->buckets[low > 1 ? __builtin_ctzll(low) : 0], count);
	return true;
}

int trace_histograms_emit(const struct trace_histograms *histograms, struct record_batch *batch, uint64_t time)
{
	int result = 0;
	for (uint32_t i = 0; i < histograms->count && !result; i++) {
		const struct trace_histogram *item = &histograms->items[i];
		/* The text has no sum and no maximum: the sum is 0, the maximum the largest possible value. */
		struct record_histogram record = { .name = item->name,
						   .unit = *item->unit ? item->unit : "count",
						   .begin = time,
						   .buckets = item->buckets,
						   .bucket_count = 64 };
		for (uint32_t k = 0; k < 64; k++)
			if (item->buckets[k])
				record.maximum = k == 63 ? UINT64_MAX : (UINT64_C(2) << k) - 1;
		result = record_batch_add_histogram(batch, &record, time);
	}
	return result;
}
