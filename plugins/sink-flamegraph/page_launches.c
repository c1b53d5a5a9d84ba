/* SPDX-License-Identifier: Apache-2.0 */
/* See page_launches.h. */
#include "page_launches.h"

#include <errno.h>
#include <inttypes.h>

#include "base/saturating.h"
#include "name_table.h"
#include "stack_spans.h"

int page_launches_take(struct page_launches *launches, const struct iaprof_record_launch *record)
{
	if (launches->items.count >= PAGE_LAUNCHES_MAX) {
		saturating_increase(&launches->dropped, record->count);
		return 0;
	}
	struct page_launch launch = { .first_time = record->first_time,
				      .time = record->header.time,
				      .count = record->count,
				      .kernel = record->kernel,
				      .pid = record->pid,
				      .tid = record->tid,
				      .source = record->header.source };
	const struct iaprof_span *span = launches->use_spans ? iaprof_record_launch_span(record) : NULL;
	if (span)
		launch.span = *span;
	launches->has_spans |= span != NULL;
	return array_push(&launches->items, launch) ? 0 : -ENOMEM;
}

/* Returns the name that stacks have for a kernel. */
static const char *name_of(const struct definitions *definitions, const struct page_launch *launch)
{
	const struct iaprof_record_kernel *kernel =
		definitions_find(definitions, IAPROF_RECORD_KERNEL, launch->source, launch->kernel);
	if (!kernel)
		return "[unknown]";
	const struct iaprof_record_code_function *function =
		definitions_find_function(definitions, launch->source, kernel->code_object, kernel->name);
	return definitions_text(definitions, function && function->shown_name ? function->shown_name : kernel->name);
}

/* Adds the name that the profile's spans have. Returns its position; NAME_NONE: out of memory. */
static uint32_t add_span(struct name_table *spans, const struct iaprof_span *span)
{
	struct text name = { 0 };
	stack_spans_append_name(&name, span);
	uint32_t position = name.failed ? NAME_NONE : name_table_add(spans, text_string(&name));
	text_free(&name);
	return position;
}

static uint64_t since(const struct iaprof_profile *profile, uint64_t time)
{
	return time > profile->begin ? time - profile->begin : 0;
}

void page_launches_append(struct text *text, const struct page_launches *launches,
			  const struct definitions *definitions, const struct iaprof_profile *profile)
{
	struct name_table kernels = { 0 }, spans = { 0 };
	if (!launches->items.count)
		return;
	text_append_format(text, ",\"launches\":{\"dropped\":%" PRIu64 ",\"items\":[", launches->dropped);
	for (size_t i = 0; i < launches->items.count && !text->failed; i++) {
		const struct page_launch *launch = &launches->items.items[i];
		uint32_t kernel = name_table_add(&kernels, name_of(definitions, launch));
		text->failed |= kernel == NAME_NONE;
		text_append_format(text, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
				   i ? "," : "", since(profile, launch->first_time), since(profile, launch->time),
				   launch->count, launch->pid, launch->tid, kernel);
		if (iaprof_span_is_valid(&launch->span)) {
			uint32_t span = add_span(&spans, &launch->span);
			text->failed |= span == NAME_NONE;
			text_append_format(text, ",%" PRIu32, span);
		}
		text_append_string(text, "]");
	}
	text_append_string(text, "],\"kernels\":");
	name_table_append(&kernels, text);
	if (launches->has_spans) {
		text_append_string(text, ",\"spans\":");
		name_table_append(&spans, text);
	}
	text_append_string(text, "}");
	name_table_free(&kernels);
	name_table_free(&spans);
}

void page_launches_free(struct page_launches *launches)
{
	array_free(&launches->items);
}
