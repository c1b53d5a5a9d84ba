/* SPDX-License-Identifier: Apache-2.0 */
/* See resources.h. */
#include "resources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/process_cgroup.h"
#include "process/process_rank.h"
#include "process/process_stat.h"
#include "process_context.h"

/* Longest interval between lookups of a process without a service, in profiles. */
#define PAUSE_MAX 64u

static bool add_container(struct resource *resource, uint32_t pid)
{
	char container[CONTAINER_NAME_SIZE], pod[POD_UID_SIZE];
	process_cgroup_read(pid, container, pod);
	bool is_id = strspn(container, "0123456789abcdef") == 64;
	return resource_add(resource, is_id ? "container.id" : "container.name", container) &&
	       resource_add(resource, "k8s.pod.uid", pod);
}

static bool add_environment(struct resource *resource, struct broker *broker, uint32_t pid)
{
	static const char service[] = "OTEL_SERVICE_NAME=", list[] = "OTEL_RESOURCE_ATTRIBUTES=";
	size_t size = 0;
	CLEANUP_FREE char *variables = broker_read_all(broker, pid, BROKER_ENVIRONMENT, &size);
	const char *name = NULL, *attributes = NULL;
	for (size_t at = 0; at < size; at += strlen(variables + at) + 1) {
		if (!name && strncmp(variables + at, service, sizeof service - 1) == 0)
			name = variables + at + sizeof service - 1;
		if (!attributes && strncmp(variables + at, list, sizeof list - 1) == 0)
			attributes = variables + at + sizeof list - 1;
	}
	char value[RESOURCE_VALUE_SIZE_MAX + 1];
	snprintf(value, sizeof value, "%s", name ? name : "");
	uint32_t rank;
	char rank_text[16] = "";
	if (size && process_rank_find(variables, size, &rank))
		snprintf(rank_text, sizeof rank_text, "%" PRIu32, rank);
	return resource_add(resource, "service.name", value) && resource_add(resource, "process.rank", rank_text) &&
	       (!attributes || resource_add_list(resource, attributes));
}

static void append_key(struct text *key, const struct resource *resource)
{
	for (size_t i = 0; i < resource->attributes.count; i++)
		text_append_format(key, "%s%c%s%c", resource->attributes.items[i].key, 0,
				   resource->attributes.items[i].value, 0);
}

/* Charges a new resource to a user. Returns false if there is no room for it. */
static bool charge(struct resources *resources, uint32_t user)
{
	if (resources->items.count >= RESOURCES_MAX)
		return false;
	if (user_accounts_trust(&resources->users, user) ||
	    user_accounts_take(&resources->users, user, 1, RESOURCES_USER_MAX, RESOURCES_OTHERS_MAX))
		return true;
	struct user_account *account = user_accounts_find(&resources->users, user);
	if (account)
		account->refused++;
	return false;
}

static void give_back(struct resources *resources, uint32_t user)
{
	if (!user_accounts_trust(&resources->users, user))
		user_accounts_give_back(&resources->users, user, 1);
}

static bool append_item(struct resources *resources, const struct resource *resource, uint32_t user)
{
	if (!array_reserve(&resources->items, resources->items.count + 1) || !array_push(&resources->owners, user))
		return false;
	resources->items.items[resources->items.count++] = *resource;
	return true;
}

/* Finds or adds a resource, whose attributes it takes over, and sets *index. Returns false if there is no room. */
static bool find_or_add(struct resources *resources, struct resource *resource, uint32_t user, uint32_t *index)
{
	struct text key = { 0 };
	bool is_new = false;
	append_key(&key, resource);
	const char *bytes = key.data ? key.data : "";
	uint32_t id = string_table_find(&resources->keys, bytes, key.size);
	if (!id && !key.failed && charge(resources, user)) {
		id = string_table_add(&resources->keys, bytes, key.size, &is_new);
		/* An id without an item is not used. */
		if (!is_new || !append_item(resources, resource, user)) {
			give_back(resources, user);
			is_new = false;
		}
	}
	text_free(&key);
	if (!is_new)
		resource_free(resource);
	*index = id && id <= resources->items.count ? id - 1 : 0;
	return id;
}

static uint32_t read_resource(struct resources *resources, uint32_t pid, bool *has_service)
{
	struct resource resource = { 0 }, container = { 0 };
	uint32_t user = UINT32_MAX, index;
	(void)process_user(pid, &user); /* unknown if it has ended */
	/*
	 * Parts for which there is no memory are omitted. Attributes that a process publishes at run time take
	 * precedence over its environment.
	 */
	(void)(add_container(&resource, pid) && process_context_add(&resource, resources->broker, pid) &&
	       add_environment(&resource, resources->broker, pid));
	*has_service = resource_has(&resource, "service.name");
	if (find_or_add(resources, &resource, user, &index))
		return index;
	/* Root names containers. */
	(void)add_container(&container, pid);
	find_or_add(resources, &container, 0, &index);
	return index;
}

/* Replaces the table by one without the resources that no process has. */
static void compact(struct resources *resources)
{
	struct resources kept = { 0 };
	CLEANUP_FREE uint32_t *places = calloc(resources->items.count, sizeof *places);
	bool good = places && array_reserve(&kept.items, resources->items.count) &&
		    array_reserve(&kept.owners, resources->items.count);
	for (size_t i = 0; good && i < resources->processes.count; i++)
		places[resources->processes.items[i].resource] = 1;
	for (size_t i = 0; good && i < resources->items.count; i++) {
		struct text key = { 0 };
		bool is_new = false;
		if (i && !places[i])
			continue;
		append_key(&key, &resources->items.items[i]);
		good = !key.failed && string_table_add(&kept.keys, key.data ? key.data : "", key.size, &is_new) &&
		       is_new;
		text_free(&key);
		places[i] = (uint32_t)kept.items.count + 1;
		kept.owners.items[kept.owners.count++] = resources->owners.items[i];
		kept.items.items[kept.items.count++] = resources->items.items[i];
	}
	for (size_t i = 0; good && i < resources->processes.count; i++)
		resources->processes.items[i].resource = places[resources->processes.items[i].resource] - 1;
	for (size_t i = 0; good && i < resources->items.count; i++) {
		if (i && !places[i]) {
			give_back(resources, resources->owners.items[i]);
			resource_free(&resources->items.items[i]);
		}
	}
	string_table_free(good ? &resources->keys : &kept.keys);
	free(good ? resources->items.items : kept.items.items);
	free(good ? resources->owners.items : kept.owners.items);
	if (!good)
		return;
	resources->keys = kept.keys;
	memcpy(&resources->items, &kept.items, sizeof kept.items);
	memcpy(&resources->owners, &kept.owners, sizeof kept.owners);
}

bool resources_init(struct resources *resources, const char *attributes, bool recorded)
{
	uint32_t first = 1;
	*resources = (struct resources){ .recorded = recorded, .broker = recorded ? NULL : broker_new() };
	user_accounts_init(&resources->users);
	if (!recorded && !resources->broker)
		return false;
	/* The user's attributes of the machine apply to all its processes. */
	return (!attributes || resource_add_list(&resources->machine, attributes)) &&
	       (recorded || resource_add_machine(&resources->machine)) &&
	       find_or_add(resources, &(struct resource){ 0 }, 0, &first) && first == 0 && resources->items.count == 1;
}

void resources_free(struct resources *resources)
{
	resource_free(&resources->machine);
	for (size_t i = 0; i < resources->items.count; i++)
		resource_free(&resources->items.items[i]);
	array_free(&resources->items);
	array_free(&resources->owners);
	user_accounts_free(&resources->users);
	string_table_free(&resources->keys);
	array_free(&resources->processes);
	hash_index_free(&resources->process_index);
	broker_free(resources->broker);
}

void resources_begin(struct resources *resources)
{
	size_t kept = 0;
	hash_index_free(&resources->process_index);
	for (size_t i = 0; i < resources->processes.count; i++)
		if (resources->processes.items[i].seen == resources->profile)
			resources->processes.items[kept++] = resources->processes.items[i];
	resources->processes.count = kept;
	if (resources->items.count > RESOURCES_MAX / 2)
		compact(resources);
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
	if (known && !known->is_stale && (known->has_service || resources->profile < known->next_lookup)) {
		known->seen = resources->profile;
		return known->resource;
	}
	uint64_t pause = known && !known->is_stale ? 2 * known->pause : 1;
	struct resource_process process = { .pid = pid,
					    .seen = resources->profile,
					    .pause = pause < PAUSE_MAX ? pause : PAUSE_MAX };
	process.next_lookup = resources->profile + process.pause;
	process.resource = read_resource(resources, pid, &process.has_service);
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
