/* SPDX-License-Identifier: Apache-2.0 */
/* See resources.h. */
#include "resources.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "process/process_cgroup.h"
#include "process/small_file.h"

/* Limits on what processes may claim: attributes, bytes of their values, and different resources. */
#define ATTRIBUTES_MAX 32u
#define VALUE_SIZE_MAX 256u
#define RESOURCES_MAX 1024u

static void attributes_free(struct resource_attribute *attributes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(attributes[i].key);
		free(attributes[i].value);
	}
}

/* A key that occurs before keeps its value: keys of a resource are unique. */
static bool add(struct resource *resource, const char *key, const char *value)
{
	for (size_t i = 0; i < resource->attributes.count; i++)
		if (strcmp(resource->attributes.items[i].key, key) == 0)
			return true;
	if (!*key || !*value || resource->attributes.count >= ATTRIBUTES_MAX)
		return true;
	struct resource_attribute attribute = { strdup(key), strdup(value) };
	if (attribute.key && attribute.value && array_push(&resource->attributes, attribute))
		return true;
	attributes_free(&attribute, 1);
	return false;
}

/* Decodes %HH in place, and cuts what is longer than a value may be. */
static void decode(char *text)
{
	char *to = text;
	for (const char *from = text; *from && to - text < (ptrdiff_t)VALUE_SIZE_MAX; from++, to++) {
		char digits[3] = "";
		if (from[0] == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
			memcpy(digits, from + 1, 2);
			*to = (char)strtoul(digits, NULL, 16);
			from += 2;
		} else {
			*to = *from;
		}
	}
	*to = '\0';
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]); length--)
		text[length - 1] = '\0';
	return text;
}

static bool add_list(struct resource *resource, const char *list)
{
	CLEANUP_FREE char *copy = strdup(list);
	char *rest = copy;
	bool good = copy != NULL;
	for (char *pair; good && (pair = strsep(&rest, ","));) {
		char *value = strchr(pair, '=');
		if (!value)
			continue;
		*value++ = '\0';
		char *key = trim(pair);
		value = trim(value);
		decode(key);
		decode(value);
		good = add(resource, key, value);
	}
	return good;
}

static bool add_container(struct resource *resource, uint32_t pid)
{
	char container[CONTAINER_NAME_SIZE], pod[POD_UID_SIZE];
	process_cgroup_read(pid, container, pod);
	bool is_id = strspn(container, "0123456789abcdef") == 64;
	return add(resource, is_id ? "container.id" : "container.name", container) && add(resource, "k8s.pod.uid", pod);
}

static bool add_environment(struct resource *resource, uint32_t pid)
{
	static const char service[] = "OTEL_SERVICE_NAME=", list[] = "OTEL_RESOURCE_ATTRIBUTES=";
	char path[64];
	CLEANUP_FREE char *variables = NULL;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/environ", pid);
	size_t size = small_file_read(path, &variables);
	const char *name = NULL, *attributes = NULL;
	for (size_t at = 0; at < size; at += strlen(variables + at) + 1) {
		if (!name && strncmp(variables + at, service, sizeof service - 1) == 0)
			name = variables + at + sizeof service - 1;
		if (!attributes && strncmp(variables + at, list, sizeof list - 1) == 0)
			attributes = variables + at + sizeof list - 1;
	}
	char value[VALUE_SIZE_MAX + 1];
	snprintf(value, sizeof value, "%s", name ? name : "");
	return add(resource, "service.name", value) && (!attributes || add_list(resource, attributes));
}

/* Returns the index of a resource, whose attributes it takes over. */
static uint32_t find(struct resources *resources, struct resource *resource)
{
	struct text key = { 0 };
	bool is_new = false, kept = false;
	for (size_t i = 0; i < resource->attributes.count; i++)
		text_append_format(&key, "%s%c%s%c", resource->attributes.items[i].key, 0,
				   resource->attributes.items[i].value, 0);
	uint32_t id = string_table_find(&resources->keys, key.data ? key.data : "", key.size);
	if (!id && !key.failed && resources->items.count < RESOURCES_MAX)
		id = string_table_add(&resources->keys, key.data ? key.data : "", key.size, &is_new);
	if (is_new)
		kept = array_push(&resources->items, *resource);
	text_free(&key);
	if (!kept) {
		attributes_free(resource->attributes.items, resource->attributes.count);
		array_free(&resource->attributes);
	}
	return id && id <= resources->items.count ? id - 1 : 0;
}

static uint32_t look_up(struct resources *resources, uint32_t pid)
{
	struct resource resource = { 0 };
	/* What is out of memory is left out. */
	(void)(add_container(&resource, pid) && add_environment(&resource, pid));
	return find(resources, &resource);
}

static void add_machine(struct resources *resources, const char *key, const char *value)
{
	struct resource_attribute *attribute = &resources->machine[resources->machine_count];
	if (!value || !*value || resources->machine_count == sizeof resources->machine / sizeof *resources->machine)
		return;
	*attribute = (struct resource_attribute){ strdup(key), strdup(value) };
	if (attribute->key && attribute->value)
		resources->machine_count++;
	else
		attributes_free(attribute, 1);
}

bool resources_init(struct resources *resources, const char *attributes, bool recorded)
{
	struct utsname system;
	CLEANUP_FREE char *machine_id = NULL;
	*resources = (struct resources){ .recorded = recorded };
	if (!recorded && !uname(&system)) {
		add_machine(resources, "host.name", system.nodename);
		add_machine(resources, "host.arch", strcmp(system.machine, "x86_64") == 0 ? "amd64" : system.machine);
		add_machine(resources, "os.type", "linux");
		add_machine(resources, "os.version", system.release);
		if (small_file_read("/etc/machine-id", &machine_id))
			add_machine(resources, "host.id", trim(machine_id));
	}
	struct resource first = { 0 };
	if (attributes && !add_list(&first, attributes))
		return false;
	/* What the user says of the machine is true of all its processes. */
	for (size_t i = 0; i < first.attributes.count; i++)
		add_machine(resources, first.attributes.items[i].key, first.attributes.items[i].value);
	attributes_free(first.attributes.items, first.attributes.count);
	array_free(&first.attributes);
	return find(resources, &(struct resource){ 0 }) == 0 && resources->items.count == 1;
}

void resources_free(struct resources *resources)
{
	attributes_free(resources->machine, resources->machine_count);
	for (size_t i = 0; i < resources->items.count; i++) {
		struct resource *resource = &resources->items.items[i];
		attributes_free(resource->attributes.items, resource->attributes.count);
		array_free(&resource->attributes);
	}
	array_free(&resources->items);
	string_table_free(&resources->keys);
	array_free(&resources->processes);
	hash_index_free(&resources->process_index);
}

void resources_begin(struct resources *resources)
{
	size_t kept = 0;
	hash_index_free(&resources->process_index);
	for (size_t i = 0; i < resources->processes.count; i++)
		if (resources->processes.items[i].seen == resources->profile)
			resources->processes.items[kept++] = resources->processes.items[i];
	resources->processes.count = 0;
	for (size_t i = 0; i < kept; i++) {
		const struct resource_process process = resources->processes.items[i];
		hash_index_push(&resources->process_index, hash_u64(process.pid), &resources->processes, process);
	}
	resources->profile++;
}

static struct resource_process *find_process(struct resources *resources, uint32_t pid)
{
	hash_index_each (probe, &resources->process_index, hash_u64(pid))
		if (resources->processes.items[probe.position].pid == pid)
			return &resources->processes.items[probe.position];
	return NULL;
}

uint32_t resources_of_process(struct resources *resources, uint32_t pid)
{
	if (!pid || resources->recorded)
		return 0;
	struct resource_process *known = find_process(resources, pid);
	if (known && !known->is_stale) {
		known->seen = resources->profile;
		return known->resource;
	}
	const struct resource_process process = { .pid = pid,
						  .resource = look_up(resources, pid),
						  .seen = resources->profile };
	if (known)
		*known = process;
	else
		hash_index_push(&resources->process_index, hash_u64(pid), &resources->processes, process);
	return process.resource;
}

void resources_take(struct resources *resources, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_PROCESS: {
		const struct iaprof_record_process *process = (const void *)record;
		struct resource_process *known = find_process(resources, process->pid);
		if (known && process->event == IAPROF_PROCESS_EXEC)
			known->is_stale = true;
		break;
	}
	case IAPROF_RECORD_SAMPLE:
		resources_of_process(resources, ((const struct iaprof_record_sample *)record)->pid);
		break;
	case IAPROF_RECORD_LAUNCH:
		resources_of_process(resources, ((const struct iaprof_record_launch *)record)->pid);
		break;
	case IAPROF_RECORD_CALL:
		resources_of_process(resources, ((const struct iaprof_record_call *)record)->pid);
		break;
	default:
		break;
	}
}
