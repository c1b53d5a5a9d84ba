/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a request: see message.h. */
#include "message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/message_pool.h"
#include "base/saturating.h"
#include "dictionary.h"
#include "otlp.pb-c.h"
#include "stacks/profile_facts.h"
#include "stacks/profile_samples.h"

#define ID_SIZE 16u /* of profiles */
/* A sample's program, process, thread, thread's name, device and reason. */
#define SAMPLE_ATTRIBUTES_MAX 7u

/* A request under construction. */
struct request {
	struct message_pool pool;
	struct profile_samples samples;
	struct dictionary dictionary;
	struct resources *resources;
	const struct iaprof_profile *profile;
	uint64_t *values;   /* by sample and value type */
	uint32_t *owners;   /* by sample: index of its resource */
	Otlp__Sample *made; /* by sample */
	uint32_t profile_count;
};

static int64_t signed_of(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Indices of the wire are signed: tables are far smaller than that. */
static int32_t index_of(uint32_t index)
{
	return (int32_t)index;
}

/* The names of the semantic conventions, where they have one. */
static const char *frame_type(uint32_t kind)
{
	switch (kind) {
	case IAPROF_FRAME_USER:
		return "native";
	case IAPROF_FRAME_LINUX_KERNEL:
		return "kernel";
	case IAPROF_FRAME_JIT:
		return "jit";
	case IAPROF_FRAME_DEVICE_FUNCTION:
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
		return "device";
	default:
		return NULL;
	}
}

/* Sets an array of one attribute; none if the value is not known. */
static void put_attribute(struct request *request, const char *key, const char *value, size_t *count,
			  int32_t **attributes)
{
	if (!value || !*value || !(*attributes = message_pool_get(&request->pool, 1, sizeof **attributes)))
		return;
	**attributes = index_of(dictionary_text_attribute(&request->dictionary, key, value));
	*count = 1;
}

static const char *text_of(const struct request *request, uint32_t text)
{
	return string_table_text(&request->samples.tables.texts, text);
}

static void put_functions(struct request *request, Otlp__Dictionary *dictionary)
{
	const struct string_table *functions = &request->samples.tables.functions;
	Otlp__Function *items = MESSAGE_POOL_REPEATED(&request->pool, dictionary, function_table,
						      functions->entries.count + 1, otlp__function__init);
	for (uint32_t i = 1; i < dictionary->n_function_table; i++) {
		const struct table_function *from = (const void *)string_table_text(functions, i);
		items[i].name_strindex =
			index_of(dictionary_string(&request->dictionary, text_of(request, from->name)));
		items[i].filename_strindex =
			index_of(dictionary_string(&request->dictionary, text_of(request, from->file)));
	}
}

static void put_mappings(struct request *request, Otlp__Dictionary *dictionary)
{
	const struct profile_tables *tables = &request->samples.tables;
	Otlp__Mapping *items = MESSAGE_POOL_REPEATED(&request->pool, dictionary, mapping_table,
						     tables->mappings.count + 1, otlp__mapping__init);
	for (uint32_t i = 1; i < dictionary->n_mapping_table; i++) {
		const struct table_mapping *from = &tables->mappings.items[i - 1];
		const char *file = text_of(request, from->file);
		items[i].memory_limit = from->limit;
		items[i].filename_strindex = index_of(dictionary_string(&request->dictionary, file));
		put_attribute(request, "process.executable.build_id.gnu", profile_build_id(request->profile, file),
			      &items[i].n_attribute_indices, &items[i].attribute_indices);
	}
}

static void put_lines(struct request *request, const struct table_location *from, Otlp__Location *location)
{
	Otlp__Line *lines = MESSAGE_POOL_REPEATED(&request->pool, location, lines, from->count, otlp__line__init);
	for (uint32_t i = 0; i < location->n_lines; i++) {
		lines[i].function_index = index_of(from->lines[i].function);
		lines[i].line = from->lines[i].line;
	}
}

static void put_locations(struct request *request, Otlp__Dictionary *dictionary)
{
	const struct string_table *locations = &request->samples.tables.locations;
	Otlp__Location *items = MESSAGE_POOL_REPEATED(&request->pool, dictionary, location_table,
						      locations->entries.count + 1, otlp__location__init);
	for (uint32_t i = 1; i < dictionary->n_location_table; i++) {
		const struct table_location *from = (const void *)string_table_text(locations, i);
		items[i].mapping_index = index_of(from->mapping);
		items[i].address = from->address;
		put_lines(request, from, &items[i]);
		put_attribute(request, "profile.frame.type", frame_type(from->kind), &items[i].n_attribute_indices,
			      &items[i].attribute_indices);
	}
}

static void put_stacks(struct request *request, Otlp__Dictionary *dictionary)
{
	const struct string_table *stacks = &request->dictionary.stacks;
	Otlp__Stack *items = MESSAGE_POOL_REPEATED(&request->pool, dictionary, stack_table, stacks->entries.count + 1,
						   otlp__stack__init);
	for (uint32_t i = 1; i < dictionary->n_stack_table; i++) {
		items[i].n_location_indices = stacks->entries.items[i - 1].length / sizeof(uint32_t);
		/* The table has no index that would be negative. */
		items[i].location_indices = (int32_t *)(uintptr_t)string_table_text(stacks, i);
	}
}

static void put_links(struct request *request, Otlp__Dictionary *dictionary)
{
	static const struct iaprof_span none;
	const struct string_table *spans = &request->samples.tables.spans;
	Otlp__Link *items = MESSAGE_POOL_REPEATED(&request->pool, dictionary, link_table, spans->entries.count + 1,
						  otlp__link__init);
	for (uint32_t i = 0; i < dictionary->n_link_table; i++) {
		const struct iaprof_span *span = i ? (const void *)string_table_text(spans, i) : &none;
		items[i].trace_id.data = (uint8_t *)(uintptr_t)span->trace_id;
		items[i].trace_id.len = sizeof span->trace_id;
		items[i].span_id.data = (uint8_t *)(uintptr_t)span->span_id;
		items[i].span_id.len = sizeof span->span_id;
	}
}

static void put_attributes(struct request *request, Otlp__Dictionary *dictionary)
{
	const struct string_table *attributes = &request->dictionary.attributes;
	size_t count = attributes->entries.count + 1;
	Otlp__AnyValue *values = message_pool_get(&request->pool, count, sizeof *values);
	Otlp__KeyValueAndUnit *items = MESSAGE_POOL_REPEATED(&request->pool, dictionary, attribute_table, count,
							     otlp__key_value_and_unit__init);
	for (uint32_t i = 1; i < dictionary->n_attribute_table; i++) {
		const struct dictionary_attribute *from = (const void *)string_table_text(attributes, i);
		otlp__any_value__init(&values[i]);
		values[i].value_case =
			from->text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
		if (from->text)
			values[i].string_value =
				(char *)(uintptr_t)string_table_text(&request->dictionary.values, from->text);
		else
			values[i].int_value = from->number;
		items[i].key_strindex = index_of(from->key);
		items[i].value = &values[i];
	}
}

/* Must be last: the others add strings. */
static void put_strings(struct request *request, Otlp__Dictionary *dictionary)
{
	const struct string_table *strings = &request->dictionary.strings;
	size_t count = strings->entries.count + 1;
	dictionary->string_table = message_pool_get(&request->pool, count, sizeof *dictionary->string_table);
	dictionary->n_string_table = dictionary->string_table ? count : 0;
	for (uint32_t i = 0; i < dictionary->n_string_table; i++)
		dictionary->string_table[i] = (char *)(uintptr_t)string_table_text(strings, i);
}

static void sample_make(struct request *request, const struct table_sample *from, Otlp__Sample *sample)
{
	struct dictionary *dictionary = &request->dictionary;
	const struct {
		const char *key;
		uint32_t number, text;
	} attributes[SAMPLE_ATTRIBUTES_MAX] = { { "process.executable.name", 0, from->program },
						{ "process.pid", from->pid, 0 },
						{ "thread.id", from->tid, 0 },
						{ "thread.name", 0, from->thread },
						{ "device.name", 0, from->device },
						{ "device.kernel.class", 0, from->class },
						{ "device.stall.reason", 0, from->reason } };
	otlp__sample__init(sample);
	sample->stack_index = index_of(dictionary_stack(dictionary, from->locations, from->count));
	sample->link_index = index_of(from->span);
	sample->attribute_indices = message_pool_get(&request->pool, SAMPLE_ATTRIBUTES_MAX, sizeof(int32_t));
	for (size_t i = 0; sample->attribute_indices && i < SAMPLE_ATTRIBUTES_MAX; i++) {
		uint32_t index = attributes[i].number ? dictionary_number_attribute(dictionary, attributes[i].key,
										    attributes[i].number)
				 : attributes[i].text ? dictionary_text_attribute(dictionary, attributes[i].key,
										  text_of(request, attributes[i].text))
						      : 0;
		if (index)
			sample->attribute_indices[sample->n_attribute_indices++] = index_of(index);
	}
}

/*
 * CPU samples are counts with a period, as other profilers send them. Everything else is its own value. Where the CPU
 * budget lowers the rate, a sample counts as often as it has periods.
 */
static bool is_counted(const struct iaprof_value_type *type)
{
	return type->role == IAPROF_VALUE_CPU_TIME && type->period;
}

/* Converts a time to a number of samples, rounded. */
static void to_count(uint64_t *value, uint64_t period)
{
	*value = *value / period + (*value % period >= (period + 1) / 2);
}

static bool samples_make(struct request *request)
{
	const struct profile_samples *samples = &request->samples;
	size_t count = samples->tables.samples.entries.count, types = samples->types.count;
	request->made = message_pool_get(&request->pool, count, sizeof *request->made);
	request->owners = message_pool_get(&request->pool, count, sizeof *request->owners);
	request->values = message_pool_get(&request->pool, count, types * sizeof *request->values);
	if (request->pool.failed)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct table_sample *from = (const void *)string_table_text(&samples->tables.samples, i + 1);
		sample_make(request, from, &request->made[i]);
		request->owners[i] = resources_of_process(request->resources, from->pid);
	}
	for (size_t i = 0; i < samples->values.count; i++) {
		const struct sample_value *from = &samples->values.items[i];
		saturating_increase(&request->values[(from->sample - 1) * types + from->type], from->value);
	}
	for (size_t i = 0; i < types; i++) {
		const struct iaprof_value_type *type =
			iaprof_profile_value_type(request->profile, samples->types.items[i].value_type);
		for (size_t k = 0; k < count && is_counted(type); k++)
			to_count(&request->values[k * types + i], type->period);
	}
	return true;
}

static Otlp__ValueType *value_type(struct request *request, const char *name, const char *unit)
{
	Otlp__ValueType *type = message_pool_get(&request->pool, 1, sizeof *type);
	if (!type)
		return NULL;
	otlp__value_type__init(type);
	type->type_strindex = index_of(dictionary_string(&request->dictionary, name));
	type->unit_strindex = index_of(dictionary_string(&request->dictionary, unit));
	return type;
}

/* A receiver may name a profile after its period type: so each has one. */
static void put_types(struct request *request, const struct iaprof_value_type *type, Otlp__Profile *profile)
{
	bool counted = is_counted(type);
	profile->sample_type = value_type(request, counted ? "samples" : type->name, counted ? "count" : type->unit);
	profile->period_type = value_type(request, type->name, type->unit);
	profile->period = type->period ? signed_of(type->period) : 1;
}

/* Returns the samples of a resource that have values of a type; NULL if there are none. */
static Otlp__Profile *profile_make(struct request *request, uint32_t resource, uint32_t type)
{
	size_t count = request->samples.tables.samples.entries.count, types = request->samples.types.count;
	size_t wanted = 0;
	for (size_t i = 0; i < count; i++)
		wanted += request->owners[i] == resource && request->values[i * types + type];
	Otlp__Profile *profile = wanted ? message_pool_get(&request->pool, 1, sizeof *profile) : NULL;
	int64_t *values = profile ? message_pool_get(&request->pool, wanted, sizeof *values) : NULL;
	if (!values)
		return NULL;
	otlp__profile__init(profile);
	Otlp__Sample *item = MESSAGE_POOL_REPEATED(&request->pool, profile, samples, wanted, otlp__sample__init);
	for (size_t i = 0; item && i < count; i++) {
		if (request->owners[i] != resource || !request->values[i * types + type])
			continue;
		*item = request->made[i];
		*values = signed_of(request->values[i * types + type]);
		item->values = values++;
		item->n_values = 1;
		item++;
	}
	put_types(request, iaprof_profile_value_type(request->profile, request->samples.types.items[type].value_type),
		  profile);
	profile->time_unix_nano = request->profile->begin_realtime;
	profile->duration_nano = request->profile->end - request->profile->begin;
	profile->profile_id.data = message_pool_get(&request->pool, ID_SIZE, 1);
	if (profile->profile_id.data && getrandom(profile->profile_id.data, ID_SIZE, GRND_NONBLOCK) == ID_SIZE)
		profile->profile_id.len = ID_SIZE;
	return profile;
}

static void put_scope(struct request *request, Otlp__ResourceProfiles *profiles)
{
	size_t types = request->samples.types.count;
	Otlp__Scope *scope = message_pool_get(&request->pool, 1, sizeof *scope);
	Otlp__ScopeProfiles *scoped =
		MESSAGE_POOL_REPEATED(&request->pool, profiles, scope_profiles, 1, otlp__scope_profiles__init);
	if (!scoped)
		return;
	otlp__scope__init(scope);
	scope->name = (char *)(uintptr_t) "iaprof";
	scope->version = (char *)(uintptr_t)PLUGIN_VERSION;
	scoped->scope = scope;
	scoped->profiles = message_pool_get(&request->pool, types, sizeof *scoped->profiles);
}

/* Resources without samples are left out. */
static void put_resources(struct request *request, Otlp__ExportRequest *message)
{
	size_t count = request->resources->items.count, types = request->samples.types.count;
	Otlp__ResourceProfiles *items =
		MESSAGE_POOL_REPEATED(&request->pool, message, resource_profiles, count, otlp__resource_profiles__init);
	message->n_resource_profiles = 0;
	for (uint32_t i = 0; i < count && !request->pool.failed; i++) {
		Otlp__ResourceProfiles *item = &items[message->n_resource_profiles];
		put_scope(request, item);
		for (uint32_t k = 0; !request->pool.failed && k < types; k++) {
			Otlp__ScopeProfiles *scoped = item->scope_profiles[0];
			Otlp__Profile *profile = profile_make(request, i, k);
			if (profile)
				scoped->profiles[scoped->n_profiles++] = profile;
		}
		if (request->pool.failed || !item->scope_profiles[0]->n_profiles)
			continue;
		request->profile_count += (uint32_t)item->scope_profiles[0]->n_profiles;
		/* Attributes that a process publishes take precedence over those of its machine. */
		item->resource = resource_message(&request->pool,
						  (const struct resource *[]){ &request->resources->items.items[i],
									       &request->resources->machine, NULL });
		message->n_resource_profiles++;
	}
}

static bool request_append(struct request *request, struct text *text)
{
	Otlp__ExportRequest message = OTLP__EXPORT_REQUEST__INIT;
	Otlp__Dictionary dictionary = OTLP__DICTIONARY__INIT;
	put_resources(request, &message);
	put_functions(request, &dictionary);
	put_mappings(request, &dictionary);
	put_locations(request, &dictionary);
	put_stacks(request, &dictionary);
	put_links(request, &dictionary);
	put_attributes(request, &dictionary);
	put_strings(request, &dictionary);
	message.dictionary = &dictionary;
	if (request->pool.failed || request->dictionary.failed || request->samples.tables.failed)
		return false;
	size_t size = otlp__export_request__get_packed_size(&message);
	bool good = text_reserve(text, size);
	if (good)
		text->size += otlp__export_request__pack(&message, (uint8_t *)text->data + text->size);
	return good;
}

/* Appends the encoded request, and sets *count to the number of its profiles. Returns false when out of memory. */
static bool message_append(struct text *text, const struct iaprof_profile *profile, struct resources *resources,
			   const struct message_options *wanted, uint32_t *count)
{
	struct request request = { .resources = resources, .profile = profile };
	const struct profile_samples_options options = { .text = { .lines = wanted->lines },
							 .spans = wanted->links,
							 .without_programs = true };
	bool good = profile_samples_make(&request.samples, profile, &options) && samples_make(&request) &&
		    request_append(&request, text);
	*count = request.profile_count;
	profile_samples_free(&request.samples);
	dictionary_free(&request.dictionary);
	arena_free(&request.pool.memory);
	return good;
}

/* What a profile is handed over with. */
struct delivery {
	struct resources *resources;
	const struct message_options *options;
	message_send *send;
	void *context;
};

/* Hands over a profile with count of its values, from begin on, in halves if it is too large. */
static bool message_range(const struct delivery *delivery, const struct iaprof_profile *profile, size_t begin,
			  size_t count)
{
	struct iaprof_profile range = *profile;
	struct text message = { 0 };
	uint32_t profiles = 0;
	range.values = begin ? iaprof_profile_value(profile, begin) : profile->values;
	range.value_count = count;
	bool good = message_append(&message, &range, delivery->resources, delivery->options, &profiles);
	bool is_large = message.size > delivery->options->size && count > 1;
	if (good && !is_large)
		good = delivery->send(delivery->context, &message, profiles);
	text_free(&message);
	if (!good || !is_large)
		return good;
	return message_range(delivery, profile, begin, count / 2) &&
	       message_range(delivery, profile, begin + count / 2, count - count / 2);
}

bool message_make(const struct iaprof_profile *profile, struct resources *resources,
		  const struct message_options *options, message_send *send, void *context)
{
	const struct delivery delivery = { resources, options, send, context };
	resources_begin(resources);
	return message_range(&delivery, profile, 0, profile->value_count);
}
