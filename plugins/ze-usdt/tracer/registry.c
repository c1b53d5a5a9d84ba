/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks modules, kernels and command lists. */
#include "registry.h"

#include "free_list.h"

/* Launches of a list whose kernels may be changed: they are searched one by one. */
#define CHANGEABLE_MAX 4096

/* Kernel names are kept forever, each once: programs have few, and create kernels repeatedly. */
struct name {
	struct name *next; /* next name with the same hash */
	char text[];
};

uint64_t pointer_map_hash(uint64_t key)
{
	/* Handles are multiples of 16: the upper half of the product is the mixed one. */
	return key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

void registry_lock(struct registry *registry)
{
	pthread_mutex_lock(&registry->lock);
}

void registry_unlock(struct registry *registry)
{
	pthread_mutex_unlock(&registry->lock);
}

/* The sanitizer's NULL check makes gcc 12 believe that the atomic is at NULL (-Wstringop-overflow). */
__attribute__((no_sanitize("undefined"))) static void forget_caches(struct registry *registry)
{
	atomic_fetch_add_explicit(&registry->generation, 1, memory_order_release);
}

static const char *name_keep(struct registry *registry, const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	struct name *first = pointer_map_find(&registry->names, hash);
	for (struct name *name = first; name; name = name->next)
		if (strcmp(name->text, text) == 0)
			return name->text;
	size_t length = strlen(text);
	struct name *name = malloc(sizeof *name + length + 1);
	if (!name)
		return NULL;
	memcpy(name->text, text, length + 1);
	name->next = NULL;
	if (first) {
		name->next = first->next;
		first->next = name;
	} else if (!pointer_map_add(&registry->names, hash, name)) {
		free(name);
		return NULL;
	}
	return name->text;
}

static struct module *module_new(struct registry *registry, uintptr_t handle, enum runtime runtime)
{
	struct module *module = TAKE(registry->free_modules);

	if (!module)
		return NULL;
	module->handle = handle;
	module->runtime = runtime;
	module->number = atomic_fetch_add_explicit(&registry->last_module, 1, memory_order_relaxed) + 1;
	return module;
}

static void module_free(struct registry *registry, struct module *module)
{
	free(module->functions);
	module->functions = NULL;
	module->function_count = 0;
	GIVE(registry->free_modules, module);
}

static void kernel_free(struct registry *registry, struct kernel *kernel)
{
	if (kernel->owns_module && kernel->module)
		module_free(registry, kernel->module);
	GIVE(registry->free_kernels, kernel);
}

struct module *registry_add_module(struct registry *registry, uintptr_t handle, enum runtime runtime)
{
	registry_lock(registry);
	struct module *stale = pointer_map_remove(&registry->modules, handle);
	if (stale)
		module_free(registry, stale);
	struct module *module = module_new(registry, handle, runtime);
	if (module && !pointer_map_add(&registry->modules, handle, module)) {
		module_free(registry, module);
		module = NULL;
	}
	registry_unlock(registry);
	return module;
}

struct kernel *registry_add_kernel(struct registry *registry, uintptr_t handle, const char *name, struct module *module)
{
	registry_lock(registry);
	struct kernel *stale = pointer_map_remove(&registry->kernels, handle);
	if (stale)
		kernel_free(registry, stale);
	const char *kept = name_keep(registry, name);
	struct kernel *kernel = kept ? TAKE(registry->free_kernels) : NULL;
	if (kernel) {
		kernel->handle = handle;
		kernel->name = kept;
		kernel->owns_module = !module;
		kernel->module = module ? module : module_new(registry, 0, RUNTIME_LEVEL_ZERO);
		if (!kernel->module || !pointer_map_add(&registry->kernels, handle, kernel)) {
			kernel_free(registry, kernel);
			kernel = NULL;
		}
	}
	forget_caches(registry);
	registry_unlock(registry);
	return kernel;
}

/* With the lock. */
static void list_begin(struct list *list, uint64_t recording)
{
	atomic_store_explicit(&list->recording, recording, memory_order_relaxed);
	atomic_store_explicit(&list->launches, 0, memory_order_relaxed);
	atomic_store_explicit(&list->next_command, 0, memory_order_relaxed);
	free(list->changeable);
	list->changeable = NULL;
	list->changeable_count = 0;
}

struct list *registry_add_list(struct registry *registry, uintptr_t handle, uint64_t recording)
{
	registry_lock(registry);
	struct list *list = pointer_map_find(&registry->lists, handle);
	if (list) {
		list_begin(list, recording);
		atomic_store_explicit(&list->engine, LIST_ENGINE_UNKNOWN, memory_order_relaxed);
		atomic_store_explicit(&list->capture, 0, memory_order_relaxed);
	} else {
		list = TAKE(registry->free_lists);
		if (list) {
			list->handle = handle;
			atomic_store_explicit(&list->recording, recording, memory_order_relaxed);
			if (!pointer_map_add(&registry->lists, handle, list)) {
				GIVE(registry->free_lists, list);
				list = NULL;
			}
		}
		forget_caches(registry);
	}
	registry_unlock(registry);
	return list;
}

uint64_t registry_next_recording(struct registry *registry)
{
	return atomic_fetch_add_explicit(&registry->last_recording, 1, memory_order_relaxed) + 1;
}

void registry_reset_list(struct registry *registry, struct list *list)
{
	registry_lock(registry);
	list_begin(list, registry_next_recording(registry));
	registry_unlock(registry);
}

void registry_clone_list(struct registry *registry, const struct list *list, uintptr_t handle)
{
	uint64_t recording = atomic_load_explicit(&list->recording, memory_order_relaxed);
	struct list *clone = registry_add_list(registry, handle, recording);

	if (!clone)
		return;
	registry_lock(registry);
	atomic_store_explicit(&clone->launches, atomic_load_explicit(&list->launches, memory_order_relaxed),
			      memory_order_relaxed);
	if (list->changeable_count) {
		size_t room = 1;

		while (room < list->changeable_count)
			room *= 2;
		clone->changeable = malloc(room * sizeof *clone->changeable);
		if (clone->changeable) {
			memcpy(clone->changeable, list->changeable, list->changeable_count * sizeof *clone->changeable);
			clone->changeable_count = list->changeable_count;
		} else {
			atomic_store_explicit(&clone->launches, ZE_LAUNCHES_UNKNOWN, memory_order_relaxed);
		}
	}
	registry_unlock(registry);
}

uint64_t registry_add_changeable(struct registry *registry, struct list *list, uint64_t command)
{
	uint64_t recording = 0;

	registry_lock(registry);
	size_t count = list->changeable_count;
	/* The room doubles when it is used up. */
	if (count < CHANGEABLE_MAX && (count & (count - 1)) == 0) {
		size_t room = count ? 2 * count : 1;
		struct changeable_launch *larger = realloc(list->changeable, room * sizeof *larger);

		if (larger)
			list->changeable = larger;
		else
			count = CHANGEABLE_MAX;
	}
	if (count < CHANGEABLE_MAX) {
		recording = registry_next_recording(registry);
		list->changeable[count] = (struct changeable_launch){ command, recording };
		list->changeable_count = count + 1;
	}
	registry_unlock(registry);
	return recording;
}

uint64_t registry_change_launch(struct registry *registry, struct list *list, uint64_t command)
{
	uint64_t recording = 0;

	registry_lock(registry);
	for (size_t i = 0; i < list->changeable_count && !recording; i++)
		if (list->changeable[i].command == command)
			recording = list->changeable[i].recording = registry_next_recording(registry);
	registry_unlock(registry);
	return recording;
}

uint64_t registry_get_changeable(struct registry *registry, const struct list *list, size_t index)
{
	registry_lock(registry);
	uint64_t recording = index < list->changeable_count ? list->changeable[index].recording : 0;
	registry_unlock(registry);
	return recording;
}

struct module *registry_get_module(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	struct module *module = pointer_map_find(&registry->modules, handle);
	registry_unlock(registry);
	return module;
}

static void cache_check(struct registry *registry, struct registry_cache *cache)
{
	uint32_t generation = atomic_load_explicit(&registry->generation, memory_order_acquire);

	if (cache->generation == generation)
		return;
	memset(cache, 0, sizeof *cache);
	cache->generation = generation;
}

/* Handles are addresses of objects from malloc(): their low bits are equal. */
static size_t cache_place(uintptr_t handle, size_t count)
{
	return ((handle >> 4) ^ (handle >> 11)) % count;
}

struct kernel *registry_get_kernel(struct registry *registry, struct registry_cache *cache, uintptr_t handle)
{
	struct kernel *uncached = NULL, **place = &uncached;

	if (cache) {
		cache_check(registry, cache);
		place = &cache->kernels[cache_place(handle, sizeof cache->kernels / sizeof *cache->kernels)];
		if (*place && (*place)->handle == handle)
			return *place;
	}
	registry_lock(registry);
	*place = pointer_map_find(&registry->kernels, handle);
	registry_unlock(registry);
	return *place;
}

struct list *registry_get_list(struct registry *registry, struct registry_cache *cache, uintptr_t handle)
{
	struct list *uncached = NULL, **place = &uncached;

	if (cache) {
		cache_check(registry, cache);
		place = &cache->lists[cache_place(handle, sizeof cache->lists / sizeof *cache->lists)];
		if (*place && (*place)->handle == handle)
			return *place;
	}
	registry_lock(registry);
	*place = pointer_map_find(&registry->lists, handle);
	registry_unlock(registry);
	return *place;
}

struct module *registry_remove_module(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	struct module *module = pointer_map_remove(&registry->modules, handle);
	registry_unlock(registry);
	return module;
}

struct kernel *registry_remove_kernel(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	struct kernel *kernel = pointer_map_remove(&registry->kernels, handle);
	if (kernel)
		forget_caches(registry);
	registry_unlock(registry);
	return kernel;
}

void registry_free_module(struct registry *registry, struct module *module)
{
	registry_lock(registry);
	module_free(registry, module);
	registry_unlock(registry);
}

void registry_free_kernel(struct registry *registry, struct kernel *kernel)
{
	registry_lock(registry);
	kernel_free(registry, kernel);
	registry_unlock(registry);
}

void registry_remove_list(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	struct list *list = pointer_map_remove(&registry->lists, handle);
	if (list) {
		forget_caches(registry);
		list_begin(list, 0);
		GIVE(registry->free_lists, list);
	}
	registry_unlock(registry);
}
