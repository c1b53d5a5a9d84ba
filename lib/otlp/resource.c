/* SPDX-License-Identifier: Apache-2.0 */
/* See resource.h. */
#include "otlp/resource.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "otlp.pb-c.h"
#include "process/small_file.h"
#include "text/percent_encoding.h"
#include "text/text.h"

#define ATTRIBUTES_MAX 32u

static void attribute_free(struct resource_attribute *attribute)
{
	free(attribute->key);
	free(attribute->value);
}

void resource_free(struct resource *resource)
{
	for (size_t i = 0; i < resource->attributes.count; i++)
		attribute_free(&resource->attributes.items[i]);
	array_free(&resource->attributes);
}

bool resource_has(const struct resource *resource, const char *key)
{
	for (size_t i = 0; i < resource->attributes.count; i++)
		if (strcmp(resource->attributes.items[i].key, key) == 0)
			return true;
	return false;
}

bool resource_add(struct resource *resource, const char *key, const char *value)
{
	if (!*key || !*value || resource->attributes.count >= ATTRIBUTES_MAX || resource_has(resource, key))
		return true;
	struct resource_attribute attribute = { strdup(key), strdup(value) };
	if (attribute.key && attribute.value && array_push(&resource->attributes, attribute))
		return true;
	attribute_free(&attribute);
	return false;
}

/* Decodes a text in place, and cuts what is longer than a value may be. */
static void decode(char *text)
{
	if (percent_decode(text) > RESOURCE_VALUE_SIZE_MAX)
		text[RESOURCE_VALUE_SIZE_MAX] = '\0';
}

bool resource_add_list(struct resource *resource, const char *list)
{
	CLEANUP_FREE char *copy = strdup(list);
	char *rest = copy;
	bool good = copy != NULL;
	for (char *pair; good && (pair = strsep(&rest, ","));) {
		char *value = strchr(pair, '=');
		if (!value)
			continue;
		*value++ = '\0';
		char *key = text_trim(pair);
		value = text_trim(value);
		decode(key);
		decode(value);
		good = resource_add(resource, key, value);
	}
	return good;
}

bool resource_add_machine(struct resource *resource)
{
	struct utsname system;
	CLEANUP_FREE char *machine_id = NULL;
	if (uname(&system))
		return true;
	size_t size = small_file_read("/etc/machine-id", &machine_id);
	return resource_add(resource, "host.name", system.nodename) &&
	       resource_add(resource, "host.arch", strcmp(system.machine, "x86_64") == 0 ? "amd64" : system.machine) &&
	       resource_add(resource, "os.type", "linux") && resource_add(resource, "os.version", system.release) &&
	       (!size || resource_add(resource, "host.id", text_trim(machine_id)));
}

Otlp__KeyValue *resource_message_pair(struct message_pool *pool, const char *name, const char *value)
{
	Otlp__KeyValue *pair = message_pool_get(pool, 1, sizeof *pair);
	Otlp__AnyValue *any = message_pool_get(pool, 1, sizeof *any);
	struct text key = { 0 }, text = { 0 };
	text_append_name(&key, name);
	text_append_name(&text, value);
	pool->failed |= key.failed || text.failed;
	if (pair && any && !pool->failed) {
		otlp__key_value__init(pair);
		otlp__any_value__init(any);
		pair->key = arena_text(&pool->memory, key.data ? key.data : "", key.size);
		any->string_value = arena_text(&pool->memory, text.data ? text.data : "", text.size);
		any->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
		pair->value = any;
		pool->failed |= !pair->key || !any->string_value;
	}
	text_free(&key);
	text_free(&text);
	return pool->failed ? NULL : pair;
}

Otlp__Resource *resource_message(struct message_pool *pool, const struct resource *const *resources)
{
	Otlp__Resource *message = message_pool_get(pool, 1, sizeof *message);
	size_t count = 0;
	for (size_t i = 0; resources[i]; i++)
		count += resources[i]->attributes.count;
	if (!message)
		return NULL;
	otlp__resource__init(message);
	message->attributes = message_pool_get(pool, count, sizeof *message->attributes);
	for (size_t i = 0; message->attributes && resources[i]; i++) {
		for (size_t k = 0; k < resources[i]->attributes.count; k++) {
			const struct resource_attribute *attribute = &resources[i]->attributes.items[k];
			bool is_known = false;
			for (size_t before = 0; before < i; before++)
				is_known |= resource_has(resources[before], attribute->key);
			Otlp__KeyValue *pair =
				is_known ? NULL : resource_message_pair(pool, attribute->key, attribute->value);
			if (pair)
				message->attributes[message->n_attributes++] = pair;
		}
	}
	return message;
}
