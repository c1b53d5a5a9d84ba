/* SPDX-License-Identifier: Apache-2.0 */
/* See overview.h. */
#include "overview.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private_folder.h"

/* Rows of an answer; what others have is the total without them. */
#define ROWS_MAX 24u
#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)

/* Sums of a program, device or service by time slot. */
struct row {
	uint32_t name;
	double sum;
	double *values; /* by slot; NULL: not among the largest */
};

struct view {
	const struct overview *overview;
	const struct overview_query *query;
	double covered[OVERVIEW_SLOTS_MAX]; /* seconds of the slot that segments have */
	double total[OVERVIEW_SLOTS_MAX];
	ARRAY(struct row) rows;
	size_t unread; /* segments in the range that were not read yet */
	size_t damaged;
};

void overview_init(struct overview *overview, const char *folder)
{
	*overview = (struct overview){ .folder = folder };
	pthread_mutex_init(&overview->lock, NULL);
}

void overview_free(struct overview *overview)
{
	for (size_t i = 0; i < overview->segments.count; i++)
		array_free(&overview->segments.items[i].sums);
	array_free(&overview->segments);
	segment_names_free(&overview->names);
	pthread_mutex_destroy(&overview->lock);
}

static bool is_same(const struct ring_segment *a, const struct ring_segment *b)
{
	return a->size == b->size && strcmp(a->name, b->name) == 0;
}

/* Replaces the known segments by those of the folder. Both are in order of time. Returns 0 or -ENOMEM. */
static int take_list(struct overview *overview, const struct ring_segments *found)
{
	size_t first = found->count > OVERVIEW_SEGMENTS_MAX ? found->count - OVERVIEW_SEGMENTS_MAX : 0, old = 0;
	__typeof__(overview->segments) segments = { 0 };
	if (!array_reserve(&segments, found->count - first + 1))
		return -ENOMEM;
	for (size_t i = first; i < found->count; i++) {
		struct overview_segment segment = { .file = found->items[i] };
		while (old < overview->segments.count && overview->segments.items[old].file.begin < segment.file.begin)
			old++;
		for (size_t same = old;
		     same < overview->segments.count && overview->segments.items[same].file.begin == segment.file.begin;
		     same++)
			if (is_same(&overview->segments.items[same].file, &segment.file)) {
				segment = overview->segments.items[same];
				/* It moves. */
				overview->segments.items[same].sums = (struct segment_sums){ 0 };
				break;
			}
		(void)array_push(&segments, segment); /* there is room */
	}
	for (size_t i = 0; i < overview->segments.count; i++)
		array_free(&overview->segments.items[i].sums);
	array_free(&overview->segments);
	overview->segments.items = segments.items;
	overview->segments.count = segments.count;
	overview->segments.capacity = segments.capacity;
	overview->omitted = first;
	return 0;
}

static bool is_in_range(const struct ring_segment *file, const struct overview_query *query)
{
	return file->begin < query->to && file->end > query->from;
}

/* Reads some of the segments of a range, the newest first. Returns 0 or -ENOMEM. */
static int read_segments(struct overview *overview, const struct overview_query *query, int folder)
{
	size_t count = 0;
	for (size_t i = overview->segments.count; i-- && count < OVERVIEW_READ_MAX;) {
		struct overview_segment *segment = &overview->segments.items[i];
		if (segment->is_read || !is_in_range(&segment->file, query))
			continue;
		int result = segment_sums_read(&segment->sums, &overview->names, folder, segment->file.name);
		if (result == -ENOMEM)
			return result;
		segment->is_read = true;
		/* The sink may have removed it meanwhile. */
		segment->is_damaged = result && result != -ENOENT;
		count++;
	}
	return 0;
}

static int update(struct overview *overview, const struct overview_query *query)
{
	struct ring_segments found = { 0 };
	const char *why;
	CLEANUP_CLOSE int folder = private_folder_open(overview->folder, false, &why);
	int result = folder < 0 ? folder : ring_folder_list(folder, &found);
	if (!result)
		result = take_list(overview, &found);
	array_free(&found);
	return result ? result : read_segments(overview, query, folder);
}

/* Adds a value to the slots that a segment overlaps, spread evenly. */
static void spread(const struct overview_query *query, const struct ring_segment *file, double value, double *slots)
{
	double width = (double)(query->to - query->from) / query->slots;
	double begin = file->begin > query->from ? (double)(file->begin - query->from) : 0;
	double end = file->end < query->to ? (double)(file->end - query->from) : (double)(query->to - query->from);
	uint32_t last = (uint32_t)(end / width);
	for (uint32_t i = (uint32_t)(begin / width); i <= last && i < query->slots; i++) {
		double from = i * width > begin ? i * width : begin;
		double to = (i + 1) * width < end ? (i + 1) * width : end;
		if (to > from)
			slots[i] += value * (to - from) / (double)(file->end - file->begin);
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	return a->sum != b->sum ? (a->sum < b->sum) - (a->sum > b->sum) : (a->name > b->name) - (a->name < b->name);
}

static bool is_shown(const struct view *view, const struct segment_sum *sum)
{
	return sum->metric == view->query->metric && sum->group == view->query->group;
}

/* Finds the programs, devices or services with the largest sums. Returns 0 or -ENOMEM. */
static int choose_rows(struct view *view)
{
	ARRAY(double) sums = { 0 };
	bool failed = !array_extend(&sums, view->overview->names.names.entries.count + 1);
	for (size_t i = 0; i < view->overview->segments.count && !failed; i++) {
		const struct overview_segment *segment = &view->overview->segments.items[i];
		for (size_t k = 0; k < segment->sums.count && is_in_range(&segment->file, view->query); k++)
			if (is_shown(view, &segment->sums.items[k]))
				sums.items[segment->sums.items[k].name] += segment->sums.items[k].value;
	}
	for (uint32_t name = 1; name < sums.count && !failed; name++)
		if (sums.items[name] > 0)
			failed = !array_push(&view->rows, ((struct row){ .name = name, .sum = sums.items[name] }));
	array_free(&sums);
	if (view->rows.count > 1)
		qsort(view->rows.items, view->rows.count, sizeof *view->rows.items, compare_rows);
	if (view->rows.count > ROWS_MAX)
		view->rows.count = ROWS_MAX;
	for (size_t i = 0; i < view->rows.count && !failed; i++) {
		view->rows.items[i].values = calloc(view->query->slots, sizeof(double));
		failed = !view->rows.items[i].values;
	}
	return failed ? -ENOMEM : 0;
}

static void add_segment(struct view *view, const struct overview_segment *segment)
{
	const struct ring_segment *file = &segment->file;
	view->unread += !segment->is_read;
	view->damaged += segment->is_damaged;
	if (!segment->is_read)
		return;
	spread(view->query, file, (double)(file->end - file->begin) / (double)NANOSECONDS_PER_SECOND, view->covered);
	for (size_t i = 0; i < segment->sums.count; i++) {
		const struct segment_sum *sum = &segment->sums.items[i];
		if (sum->metric == view->query->metric && sum->group == SEGMENT_TOTAL)
			spread(view->query, file, sum->value, view->total);
		if (!is_shown(view, sum))
			continue;
		for (size_t k = 0; k < view->rows.count; k++)
			if (view->rows.items[k].name == sum->name)
				spread(view->query, file, sum->value, view->rows.items[k].values);
	}
}

static uint64_t milliseconds(uint64_t time)
{
	return time / NANOSECONDS_PER_MILLISECOND;
}

static const char *name_text(const struct view *view, uint32_t name)
{
	return string_table_text(&view->overview->names.names, name);
}

/* Without a segment, a slot has no value. */
static void append_values(const struct view *view, const double *values, struct text *text)
{
	text_append_string(text, "[");
	for (uint32_t i = 0; i < view->query->slots; i++) {
		text_append_string(text, i ? "," : "");
		if (view->covered[i] > 0)
			text_append_format(text, "%.6g", values[i]);
		else
			text_append_string(text, "null");
	}
	text_append_string(text, "]");
}

static void append_view(const struct view *view, struct text *text)
{
	const struct overview *overview = view->overview;
	size_t count = overview->segments.count;
	uint64_t begin = count ? overview->segments.items[0].file.begin : 0, end = 0;
	for (size_t i = 0; i < count; i++)
		end = overview->segments.items[i].file.end > end ? overview->segments.items[i].file.end : end;
	char host[HOST_NAME_MAX + 1] = "";
	gethostname(host, sizeof host - 1);
	text_append_string(text, "{\"host\":");
	text_append_json(text, host);
	text_append_string(text, ",\"folder\":");
	text_append_json(text, overview->folder);
	text_append_format(text,
			   ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64
			   ",\"segments\":%zu,\"unread\":%zu,\"damaged\":%zu,\"omitted\":%zu,\"metrics\":[",
			   milliseconds(begin), milliseconds(end), milliseconds(view->query->from),
			   milliseconds(view->query->to), count, view->unread, view->damaged, overview->omitted);
	for (size_t i = 0; i < overview->names.metrics.count; i++) {
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, name_text(view, overview->names.metrics.items[i].name));
		text_append_string(text, ",\"unit\":");
		text_append_json(text, name_text(view, overview->names.metrics.items[i].unit));
		text_append_string(text, "}");
	}
	text_append_string(text, "],\"covered\":");
	append_values(view, view->covered, text);
	text_append_string(text, ",\"total\":");
	append_values(view, view->total, text);
	text_append_string(text, ",\"rows\":[");
	for (size_t i = 0; i < view->rows.count; i++) {
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, name_text(view, view->rows.items[i].name));
		text_append_format(text, ",\"sum\":%.6g,\"values\":", view->rows.items[i].sum);
		append_values(view, view->rows.items[i].values, text);
		text_append_string(text, "}");
	}
	text_append_string(text, "]}\n");
}

static int append(struct overview *overview, const struct overview_query *query, struct text *text)
{
	CLEANUP_FREE struct view *view = calloc(1, sizeof *view);
	if (!view)
		return -ENOMEM;
	view->overview = overview;
	view->query = query;
	int result = choose_rows(view);
	for (size_t i = 0; i < overview->segments.count && !result; i++)
		if (is_in_range(&overview->segments.items[i].file, query))
			add_segment(view, &overview->segments.items[i]);
	if (!result)
		append_view(view, text);
	for (size_t i = 0; i < view->rows.count; i++)
		free(view->rows.items[i].values);
	array_free(&view->rows);
	return result;
}

int overview_append(struct overview *overview, const struct overview_query *query, struct text *text)
{
	pthread_mutex_lock(&overview->lock);
	int result = update(overview, query);
	if (!result)
		result = append(overview, query, text);
	pthread_mutex_unlock(&overview->lock);
	return result;
}
