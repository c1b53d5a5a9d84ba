/* SPDX-License-Identifier: Apache-2.0 */
/* See process_context.h. */
#include "process_context.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "otlp.pb-c.h"
#include "process/process_maps.h"

#define SIGNATURE "OTEL_CTX"
#define VERSION 2u

/* At the beginning of the mapping, in the byte order of the machine. */
struct context_header {
	char signature[8];
	uint32_t version;
	uint32_t size;
	uint64_t published; /* CLOCK_BOOTTIME ns; 0: it is being changed */
	uint64_t address;   /* of the encoded context */
};

/* The names that a mapping has by prctl(PR_SET_VMA_ANON_NAME), shared or private, and by memfd_create(). */
static bool is_context(const struct process_mapping *mapping)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t length = strlen(names[i]);
		if (mapping->path_length >= length && strncmp(mapping->path, names[i], length) == 0)
			return true;
	}
	return false;
}

/* Returns the address of the mapping; 0 if the process has none. */
static uint64_t context_find(struct broker *broker, uint32_t pid)
{
	size_t length;
	CLEANUP_FREE char *maps = broker_read_all(broker, pid, BROKER_MAPS, &length);
	/* The name is rare: most processes have no line to parse. */
	const char *text = maps ? memmem(maps, length, SIGNATURE, sizeof SIGNATURE - 1) : NULL;
	struct process_mapping mapping;
	if (!text)
		return 0;
	while (text > maps && text[-1] != '\n')
		text--;
	for (length -= (size_t)(text - maps); process_mapping_next(&text, &length, &mapping);)
		if (is_context(&mapping))
			return mapping.start;
	return 0;
}

static bool is_complete(const struct context_header *header)
{
	return memcmp(header->signature, SIGNATURE, sizeof header->signature) == 0 && header->version == VERSION &&
	       header->published && header->size && header->size <= PROCESS_CONTEXT_SIZE_MAX;
}

static bool add_attributes(struct resource *resource, Otlp__KeyValue *const *attributes, size_t count)
{
	bool good = true;
	for (size_t i = 0; good && i < count; i++) {
		const Otlp__AnyValue *value = attributes[i]->value;
		char text[RESOURCE_VALUE_SIZE_MAX + 1];
		if (!value || value->value_case != OTLP__ANY_VALUE__VALUE_STRING_VALUE || !value->string_value)
			continue;
		strncpy(text, value->string_value, sizeof text - 1);
		text[sizeof text - 1] = '\0';
		good = resource_add(resource, attributes[i]->key, text);
	}
	return good;
}

bool process_context_decode(struct resource *resource, const uint8_t *bytes, size_t size)
{
	Otlp__ProcessContext *context = otlp__process_context__unpack(NULL, size, bytes);
	if (!context)
		return true;
	bool good = !context->resource ||
		    add_attributes(resource, context->resource->attributes, context->resource->n_attributes);
	otlp__process_context__free_unpacked(context, NULL);
	return good;
}

bool process_context_add(struct resource *resource, struct broker *broker, uint32_t pid)
{
	struct context_header before, after;
	uint64_t address = context_find(broker, pid);
	if (!address || broker_read_memory(broker, pid, address, &before, sizeof before) || !is_complete(&before))
		return true;
	CLEANUP_FREE uint8_t *bytes = malloc(before.size);
	if (!bytes)
		return false;
	/* What changed meanwhile is read at the next look. */
	if (broker_read_memory(broker, pid, before.address, bytes, before.size) ||
	    broker_read_memory(broker, pid, address, &after, sizeof after) || after.published != before.published ||
	    after.size != before.size)
		return true;
	return process_context_decode(resource, bytes, before.size);
}
