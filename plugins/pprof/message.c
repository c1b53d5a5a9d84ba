/* SPDX-License-Identifier: Apache-2.0 */
/* See message.h. */
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.pb-c.h"

/* What messages are made of: pieces of memory that are freed together. */
struct pool {
	struct piece *pieces;
	bool failed;
};

struct piece {
	struct piece *next;
	max_align_t bytes[];
};

/* Zeroed; never NULL unless the pool has failed. */
static void *pool_get(struct pool *pool, size_t count, size_t size)
{
	if (size && count > (SIZE_MAX - sizeof(struct piece)) / size)
		pool->failed = true;
	struct piece *piece = pool->failed ? NULL : calloc(1, sizeof *piece + count * size + 1);
	if (!piece) {
		pool->failed = true;
		return NULL;
	}
	piece->next = pool->pieces;
	pool->pieces = piece;
	return piece->bytes;
}

static void pool_free(struct pool *pool)
{
	for (struct piece *piece = pool->pieces, *next; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
}

/* count messages of a type, and pointers to them. */
#define MESSAGES(POOL, COUNT, POINTERS, ITEMS)                                                                         \
	(((POINTERS) = pool_get(POOL, COUNT, sizeof *(POINTERS))) && ((ITEMS) = pool_get(POOL, COUNT, sizeof *(ITEMS))))

static int64_t signed_of(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void put_types(struct pool *pool, struct samples *samples, Pprof__Profile *profile)
{
	const struct sample_type *types = samples->types.items;
	size_t count = samples->types.count;
	Pprof__ValueType *items;
	if (!MESSAGES(pool, count, profile->sample_type, items))
		return;
	profile->n_sample_type = count;
	for (size_t i = 0; i < count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(samples->profile, types[i].value_type);
		struct text name = { 0 };
		text_append_name(&name, type->name);
		if (types[i].reason) {
			text_append_string(&name, "/");
			text_append_string(&name, tables_text_at(&samples->tables, types[i].reason));
		}
		text_append(&name, "", 1);
		pool->failed |= name.failed;
		pprof__value_type__init(&items[i]);
		items[i].type = name.failed ? 0 : tables_text(&samples->tables, name.data);
		items[i].unit = tables_text(&samples->tables, type->unit);
		profile->sample_type[i] = &items[i];
		text_free(&name);
	}
	if (samples->device_type)
		profile->default_sample_type = items[samples->device_type - 1].type;
}

static void put_labels(struct pool *pool, struct samples *samples, const struct sample *from, Pprof__Sample *sample)
{
	Pprof__Label *items;
	size_t count = (from->pid != 0) + (from->reason != 0);
	if (!count || !MESSAGES(pool, count, sample->label, items))
		return;
	for (size_t i = 0; i < count; i++) {
		pprof__label__init(&items[i]);
		sample->label[i] = &items[i];
	}
	if (from->pid) {
		items[0].key = tables_text(&samples->tables, "pid");
		items[0].num = from->pid;
	}
	if (from->reason) {
		items[count - 1].key = tables_text(&samples->tables, "reason");
		items[count - 1].str = from->reason;
	}
	sample->n_label = count;
}

static void put_samples(struct pool *pool, struct samples *samples, Pprof__Profile *profile)
{
	const struct sample *from = samples->items.items;
	const struct sample_value *values = samples->values.items;
	const uint32_t *locations = samples->locations.items;
	size_t count = samples->items.count, types = samples->types.count;
	Pprof__Sample *items;
	int64_t *numbers = pool_get(pool, count, types * sizeof *numbers);
	uint64_t *ids = pool_get(pool, samples->locations.count, sizeof *ids);
	if (!numbers || !ids || !MESSAGES(pool, count, profile->sample, items))
		return;
	for (size_t i = 0; i < samples->locations.count; i++)
		ids[i] = locations[i];
	profile->n_sample = count;
	for (size_t i = 0; i < count; i++) {
		pprof__sample__init(&items[i]);
		items[i].n_location_id = from[i].count;
		items[i].location_id = &ids[from[i].first];
		items[i].n_value = types;
		items[i].value = &numbers[i * types];
		put_labels(pool, samples, &from[i], &items[i]);
		profile->sample[i] = &items[i];
	}
	for (size_t i = 0; i < samples->values.count; i++) {
		int64_t *number = &numbers[values[i].sample * types + values[i].type];
		int64_t value = signed_of(values[i].value);
		*number = *number > INT64_MAX - value ? INT64_MAX : *number + value;
	}
}

/* Of a path with several build ids nobody knows which one a function is of. */
static void put_build_ids(struct pool *pool, struct samples *samples, Pprof__Profile *profile)
{
	const struct iaprof_profile *from = samples->profile;
	/* By the text of the path; those of mappings are among the texts there are. -1: several. */
	size_t count = samples->tables.texts.count;
	int64_t *build_ids = pool_get(pool, count, sizeof *build_ids);
	if (!build_ids)
		return;
	for (size_t i = 0; i < iaprof_profile_module_count(from); i++) {
		const struct iaprof_module *module = iaprof_profile_module(from, i);
		uint32_t path = tables_text(&samples->tables, module->path);
		uint32_t build_id = tables_text(&samples->tables, module->build_id);
		if (path < count)
			build_ids[path] = build_ids[path] ? -1 : (int64_t)build_id;
	}
	for (size_t i = 0; i < profile->n_mapping; i++) {
		int64_t build_id = build_ids[profile->mapping[i]->filename];
		profile->mapping[i]->build_id = build_id > 0 ? build_id : 0;
	}
}

static void put_mappings(struct pool *pool, const struct tables *tables, Pprof__Profile *profile)
{
	const struct table_mapping *from = tables->mappings.items;
	size_t count = tables->mappings.count;
	Pprof__Mapping *items;
	if (!MESSAGES(pool, count, profile->mapping, items))
		return;
	profile->n_mapping = count;
	for (size_t i = 0; i < count; i++) {
		pprof__mapping__init(&items[i]);
		items[i].id = i + 1;
		items[i].memory_limit = from[i].limit;
		items[i].filename = from[i].file;
		items[i].has_functions = true;
		items[i].has_filenames = from[i].has_files;
		items[i].has_line_numbers = from[i].has_lines;
		items[i].has_inline_frames = from[i].has_inlined;
		profile->mapping[i] = &items[i];
	}
}

static void put_locations(struct pool *pool, const struct tables *tables, Pprof__Profile *profile)
{
	const struct table_location *from = tables->locations.items;
	const struct table_line *lines = tables->lines.items;
	size_t count = tables->locations.count;
	Pprof__Location *items;
	Pprof__Line *line_items, **line_pointers;
	if (!MESSAGES(pool, count, profile->location, items) ||
	    !MESSAGES(pool, tables->lines.count, line_pointers, line_items))
		return;
	for (size_t i = 0; i < tables->lines.count; i++) {
		pprof__line__init(&line_items[i]);
		line_items[i].function_id = lines[i].function;
		line_items[i].line = lines[i].line;
		line_pointers[i] = &line_items[i];
	}
	profile->n_location = count;
	for (size_t i = 0; i < count; i++) {
		pprof__location__init(&items[i]);
		items[i].id = i + 1;
		items[i].mapping_id = from[i].mapping;
		items[i].address = from[i].address;
		items[i].n_line = from[i].count;
		items[i].line = &line_pointers[from[i].first];
		profile->location[i] = &items[i];
	}
}

static void put_functions(struct pool *pool, const struct tables *tables, Pprof__Profile *profile)
{
	const struct table_function *from = tables->functions.items;
	size_t count = tables->functions.count;
	Pprof__Function *items;
	if (!MESSAGES(pool, count, profile->function, items))
		return;
	profile->n_function = count;
	for (size_t i = 0; i < count; i++) {
		pprof__function__init(&items[i]);
		items[i].id = i + 1;
		/* No name of the system's, or pprof would take this one for it, and leave out what is in <> and (). */
		items[i].name = from[i].name;
		items[i].filename = from[i].file;
		profile->function[i] = &items[i];
	}
}

static uint32_t comment(struct pool *pool, struct tables *tables, const char *first, const char *second,
			const char *number)
{
	struct text text = { 0 };
	text_append_string(&text, first);
	text_append_string(&text, ": ");
	text_append_string(&text, second);
	text_append_string(&text, number);
	text_append(&text, "", 1);
	pool->failed |= text.failed;
	uint32_t index = text.failed ? 0 : tables_text(tables, text.data);
	text_free(&text);
	return index;
}

/* Facts that say how much of a profile is right; the others are no help above a table, where pprof shows comments. */
static bool is_told(const char *key)
{
	static const char samples_of[] = "samples of ";
	return strncmp(key, samples_of, sizeof samples_of - 1) == 0;
}

/* What is missing, and what became of samples: pprof shows it above its tables, and with -comments. */
static void put_comments(struct pool *pool, struct samples *samples, Pprof__Profile *profile)
{
	const struct iaprof_profile *from = samples->profile;
	size_t facts = 0, count = 0;
	while (from->metadata && from->metadata[2 * facts] && from->metadata[2 * facts + 1])
		facts++;
	int64_t *comments = pool_get(pool, facts + from->lost_count, sizeof *comments);
	if (!comments)
		return;
	for (uint32_t i = 0; i < from->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(from, i);
		char number[96];
		snprintf(number, sizeof number, ": %" PRIu64 " lost%s", lost->count,
			 lost->unknown ? ", and an unknown number" : "");
		comments[count++] = comment(pool, &samples->tables, lost->source, lost->reason, number);
	}
	for (size_t i = 0; i < facts; i++)
		if (is_told(from->metadata[2 * i]))
			comments[count++] =
				comment(pool, &samples->tables, from->metadata[2 * i], from->metadata[2 * i + 1], "");
	profile->comment = comments;
	profile->n_comment = count;
}

/* The period of the first value type that has one. */
static void put_period(struct pool *pool, struct samples *samples, Pprof__Profile *profile)
{
	const struct iaprof_profile *from = samples->profile;
	for (uint32_t i = 0; i < from->value_type_count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(from, i);
		if (!type->period)
			continue;
		profile->period_type = pool_get(pool, 1, sizeof *profile->period_type);
		if (!profile->period_type)
			return;
		pprof__value_type__init(profile->period_type);
		profile->period_type->type = tables_text(&samples->tables, type->name);
		profile->period_type->unit = tables_text(&samples->tables, type->unit);
		profile->period = signed_of(type->period);
		return;
	}
}

/* Last: the others add texts. */
static void put_texts(struct pool *pool, const struct tables *tables, Pprof__Profile *profile)
{
	profile->string_table = pool_get(pool, tables->texts.count, sizeof *profile->string_table);
	if (!profile->string_table)
		return;
	profile->n_string_table = tables->texts.count;
	for (uint32_t i = 0; i < tables->texts.count; i++)
		profile->string_table[i] = (char *)(uintptr_t)tables_text_at(tables, i);
}

bool message_append(struct text *text, struct samples *samples)
{
	struct pool pool = { 0 };
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	profile.time_nanos = signed_of(samples->profile->begin_realtime);
	profile.duration_nanos = signed_of(samples->profile->end - samples->profile->begin);
	put_types(&pool, samples, &profile);
	put_samples(&pool, samples, &profile);
	put_mappings(&pool, &samples->tables, &profile);
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
	pool_free(&pool);
	return good;
}
