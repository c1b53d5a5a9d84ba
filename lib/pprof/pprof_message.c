/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the message Profile: see pprof_message.h. */
#include "pprof/pprof_message.h"

#include <stdio.h>
#include <string.h>

#include "base/message_pool.h"
#include "profile.pb-c.h"
#include "stacks/profile_facts.h"
#include "stacks/value_label.h"

static int64_t signed_of(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void put_types(struct message_pool *pool, struct profile_samples *samples, Pprof__Profile *profile)
{
	const struct sample_type *types = samples->types.items;
	Pprof__ValueType *items =
		MESSAGE_POOL_REPEATED(pool, profile, sample_type, samples->types.count, pprof__value_type__init);
	for (size_t i = 0; i < profile->n_sample_type; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(samples->profile, types[i].value_type);
		struct text name = { 0 };
		text_append_format(&name, "%s%s%s", type->name, types[i].reason ? "/" : "",
				   string_table_text(&samples->tables.texts, types[i].reason));
		items[i].type = profile_tables_text(&samples->tables, text_string(&name));
		pool->failed |= name.failed;
		items[i].unit = profile_tables_text(&samples->tables, type->unit);
		text_free(&name);
	}
	if (items && samples->shown_type)
		profile->default_sample_type = items[samples->shown_type - 1].type;
}

/* The ids of a span as texts of lower-case hexadecimal digits, as traces show them. */
struct span_texts {
	uint32_t trace_id, span_id;
};

static uint32_t hexadecimal_text(struct profile_tables *tables, const uint8_t *bytes, size_t size)
{
	struct text digits = { 0 };
	text_append_hexadecimal(&digits, bytes, size);
	uint32_t index = profile_tables_text(tables, text_string(&digits));
	tables->failed |= digits.failed;
	text_free(&digits);
	return index;
}

static struct span_texts span_texts(struct profile_tables *tables, uint32_t id)
{
	struct iaprof_span span;
	if (!id)
		return (struct span_texts){ 0 };
	memcpy(&span, string_table_text(&tables->spans, id), sizeof span);
	return (struct span_texts){ hexadecimal_text(tables, span.trace_id, sizeof span.trace_id),
				    hexadecimal_text(tables, span.span_id, sizeof span.span_id) };
}

static void put_labels(struct message_pool *pool, struct profile_samples *samples, const struct table_sample *from,
		       Pprof__Sample *sample)
{
	struct profile_tables *tables = &samples->tables;
	const struct span_texts span = span_texts(tables, from->span);
	const struct {
		const char *key;
		uint32_t number, text;
	} labels[] = {
		{ "pid", from->pid, 0 },          { "thread_id", from->tid, 0 },      { "thread", 0, from->thread },
		{ "device", 0, from->device },    { "kernel_class", 0, from->class }, { "reason", 0, from->reason },
		{ "trace_id", 0, span.trace_id }, { "span_id", 0, span.span_id }
	};
	size_t most = sizeof labels / sizeof *labels, used = 0;
	for (size_t i = 0; i < most; i++)
		used += labels[i].number || labels[i].text;
	Pprof__Label *label = MESSAGE_POOL_REPEATED(pool, sample, label, used, pprof__label__init);
	for (size_t i = 0; label && i < most; i++) {
		if (!labels[i].number && !labels[i].text)
			continue;
		label->key = profile_tables_text(tables, labels[i].key);
		label->num = labels[i].number;
		label->str = labels[i].text;
		label++;
	}
}

static void put_samples(struct message_pool *pool, struct profile_samples *samples, Pprof__Profile *profile)
{
	size_t count = samples->tables.samples.entries.count, types = samples->types.count;
	int64_t *numbers = message_pool_get(pool, count, types * sizeof *numbers);
	Pprof__Sample *items = MESSAGE_POOL_REPEATED(pool, profile, sample, count, pprof__sample__init);
	if (!items)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const struct table_sample *from = (const void *)string_table_text(&samples->tables.samples, i + 1);
		uint64_t *ids = message_pool_get(pool, from->count, sizeof *ids);
		for (uint32_t k = 0; ids && k < from->count; k++)
			ids[k] = from->locations[k];
		items[i].n_location_id = ids ? from->count : 0;
		items[i].location_id = ids;
		items[i].n_value = types;
		items[i].value = &numbers[i * types];
		put_labels(pool, samples, from, &items[i]);
	}
	for (size_t i = 0; i < samples->values.count; i++) {
		const struct sample_value *from = &samples->values.items[i];
		int64_t *number = &numbers[(from->sample - 1) * types + from->type];
		int64_t value = signed_of(from->value);
		*number = *number > INT64_MAX - value ? INT64_MAX : *number + value;
	}
}

/* A path with several build IDs is ambiguous and gets none. */
static void put_build_ids(struct message_pool *pool, struct profile_samples *samples, Pprof__Profile *profile)
{
	const struct iaprof_profile *from = samples->profile;
	/* Indexed by the text id of the path, which mappings also use. -1: several build ids. */
	size_t count = samples->tables.texts.entries.count + 1;
	int64_t *build_ids = message_pool_get(pool, count, sizeof *build_ids);
	if (!build_ids)
		return;
	for (size_t i = 0; i < from->module_count; i++) {
		const struct iaprof_module *module = iaprof_profile_module(from, i);
		uint32_t path = profile_tables_text(&samples->tables, module->path);
		uint32_t build_id = profile_tables_text(&samples->tables, module->build_id);
		if (path < count)
			build_ids[path] = build_ids[path] ? -1 : (int64_t)build_id;
	}
	for (size_t i = 0; i < profile->n_mapping; i++) {
		int64_t build_id = build_ids[profile->mapping[i]->filename];
		profile->mapping[i]->build_id = build_id > 0 ? build_id : 0;
	}
}

/* The first mapping is the main binary, by which pprof names the profile. */
static void put_mappings(struct message_pool *pool, const struct profile_samples *samples, Pprof__Profile *profile)
{
	const struct table_mapping *from = samples->tables.mappings.items;
	size_t count = samples->tables.mappings.count, main = profile_samples_main_mapping(samples);
	Pprof__Mapping *items = MESSAGE_POOL_REPEATED(pool, profile, mapping, count, pprof__mapping__init);
	for (size_t i = 0; i < profile->n_mapping; i++) {
		items[i].id = i + 1;
		items[i].memory_limit = from[i].limit;
		items[i].filename = from[i].file;
		items[i].has_functions = true;
		items[i].has_filenames = from[i].has_files;
		items[i].has_line_numbers = from[i].has_lines;
		items[i].has_inline_frames = from[i].has_inlined;
		profile->mapping[i + 1 == main ? 0 : i + 1 < main ? i + 1 : i] = &items[i];
	}
}

static void put_locations(struct message_pool *pool, const struct profile_tables *tables, Pprof__Profile *profile)
{
	Pprof__Location *items =
		MESSAGE_POOL_REPEATED(pool, profile, location, tables->locations.entries.count, pprof__location__init);
	for (uint32_t i = 0; i < profile->n_location; i++) {
		const struct table_location *from = (const void *)string_table_text(&tables->locations, i + 1);
		items[i].id = i + 1;
		items[i].mapping_id = from->mapping;
		items[i].address = from->address;
		Pprof__Line *lines = MESSAGE_POOL_REPEATED(pool, &items[i], line, from->count, pprof__line__init);
		for (uint32_t k = 0; k < items[i].n_line; k++) {
			lines[k].function_id = from->lines[k].function;
			lines[k].line = from->lines[k].line;
		}
	}
}

static void put_functions(struct message_pool *pool, const struct profile_tables *tables, Pprof__Profile *profile)
{
	Pprof__Function *items =
		MESSAGE_POOL_REPEATED(pool, profile, function, tables->functions.entries.count, pprof__function__init);
	for (uint32_t i = 0; i < profile->n_function; i++) {
		const struct table_function *from = (const void *)string_table_text(&tables->functions, i + 1);
		items[i].id = i + 1;
		/* Without a system name: if there were one, pprof would prefer it and omit the parts in <> and (). */
		items[i].name = from->name;
		items[i].filename = from->file;
	}
}

static uint32_t comment(struct message_pool *pool, struct profile_tables *tables, const char *first, const char *second,
			const char *number)
{
	struct text text = { 0 };
	text_append_format(&text, "%s: %s%s", first, second, number);
	uint32_t index = profile_tables_text(tables, text_string(&text));
	pool->failed |= text.failed;
	text_free(&text);
	return index;
}

/* Returns whether metadata describes the quality of the profile, for the comments that pprof shows above tables. */
static bool is_about_quality(const char *key)
{
	static const char samples_of[] = "samples of ";
	return strncmp(key, samples_of, sizeof samples_of - 1) == 0;
}

/* What the sample type of a device counts: "gpu-stalls: GPU samples (EU-time)". */
static uint32_t type_comment(struct message_pool *pool, struct profile_tables *tables,
			     const struct iaprof_value_type *type)
{
	struct text title = { 0 };
	value_type_append_title(&title, type);
	pool->failed |= title.failed;
	uint32_t index = comment(pool, tables, type->name, text_string(&title), "");
	text_free(&title);
	return index;
}

/*
 * Adds what devices' sample types count, losses, findings and attribution as comments, which pprof shows above tables
 * and with -comments.
 */
static void put_comments(struct message_pool *pool, struct profile_samples *samples, Pprof__Profile *profile)
{
	const struct iaprof_profile *from = samples->profile;
	const struct iaprof_activity *activity = from->activity;
	size_t facts = 0, count = 0, findings = activity ? activity->finding_count : 0;
	while (from->metadata && from->metadata[2 * facts] && from->metadata[2 * facts + 1])
		facts++;
	int64_t *comments =
		message_pool_get(pool, from->value_type_count + facts + findings + from->lost_count, sizeof *comments);
	if (!comments)
		return;
	for (uint32_t i = 0; i < from->value_type_count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(from, i);
		if (value_type_is_of_device(type))
			comments[count++] = type_comment(pool, &samples->tables, type);
	}
	for (uint32_t i = 0; i < from->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(from, i);
		char count_text[LOST_COUNT_SIZE], number[LOST_COUNT_SIZE + 16];
		snprintf(number, sizeof number, ": %s lost", lost_count_text(lost, count_text));
		comments[count++] = comment(pool, &samples->tables, lost->source, lost->reason, number);
	}
	for (size_t i = 0; i < findings; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
		comments[count++] = comment(pool, &samples->tables, finding->name, finding->text, "");
	}
	for (size_t i = 0; i < facts; i++)
		if (is_about_quality(from->metadata[2 * i]))
			comments[count++] =
				comment(pool, &samples->tables, from->metadata[2 * i], from->metadata[2 * i + 1], "");
	profile->comment = comments;
	profile->n_comment = count;
}

/* Sets the sampling period: the longest, because counts of events have a period of 1 and are not sampled. */
static void put_period(struct message_pool *pool, struct profile_samples *samples, Pprof__Profile *profile)
{
	const struct iaprof_profile *from = samples->profile;
	const struct iaprof_value_type *sampled = NULL;
	for (uint32_t i = 0; i < from->value_type_count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(from, i);
		if (type->period > (sampled ? sampled->period : 0))
			sampled = type;
	}
	if (!sampled || !(profile->period_type = message_pool_get(pool, 1, sizeof *profile->period_type)))
		return;
	pprof__value_type__init(profile->period_type);
	profile->period_type->type = profile_tables_text(&samples->tables, sampled->name);
	profile->period_type->unit = profile_tables_text(&samples->tables, sampled->unit);
	profile->period = signed_of(sampled->period);
}

/* Must be last: the others add strings. */
static void put_texts(struct message_pool *pool, const struct profile_tables *tables, Pprof__Profile *profile)
{
	size_t count = tables->texts.entries.count + 1;
	profile->string_table = message_pool_get(pool, count, sizeof *profile->string_table);
	profile->n_string_table = profile->string_table ? count : 0;
	for (uint32_t i = 0; i < profile->n_string_table; i++)
		profile->string_table[i] = (char *)(uintptr_t)string_table_text(&tables->texts, i);
}

bool pprof_message_append(struct text *text, struct profile_samples *samples)
{
	struct message_pool pool = { 0 };
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	profile.time_nanos = signed_of(samples->profile->begin_realtime);
	profile.duration_nanos = signed_of(samples->profile->end - samples->profile->begin);
	put_types(&pool, samples, &profile);
	put_samples(&pool, samples, &profile);
	put_mappings(&pool, samples, &profile);
	put_build_ids(&pool, samples, &profile);
	put_locations(&pool, &samples->tables, &profile);
	put_functions(&pool, &samples->tables, &profile);
	put_comments(&pool, samples, &profile);
	put_period(&pool, samples, &profile);
	put_texts(&pool, &samples->tables, &profile);
	bool good = !pool.failed && !samples->tables.failed;
	if (good) {
		size_t size = pprof__profile__get_packed_size(&profile);
		good = text_reserve(text, size);
		if (good)
			text->size += pprof__profile__pack(&profile, (uint8_t *)text->data + text->size);
	}
	arena_free(&pool.memory);
	return good;
}
