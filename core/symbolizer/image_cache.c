/* SPDX-License-Identifier: Apache-2.0 */
/* The images of all processes: see image_cache.h. */
#include "symbolizer/image_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "symbolizer/mapped_file.h"
#include "symbolizer/vdso.h"

/* What says that two mappings have the same content. All zero and then filled, so that it can be compared as bytes. */
struct image_key {
	struct file_identity identity; /* for files without a build id */
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	uint32_t build_id_size;
};

struct image_entry {
	struct image_key key;
	struct image *image; /* NULL: damaged */
};

/* The answer for one mapping of one process, so that the file is not looked for again with each address. */
struct recent {
	uint32_t process, mapping; /* serial numbers; 0 none */
	int code;
	struct image *image;
};

/* More pairs than this only cost another look: what grows with the number of processes is not kept. */
#define RECENT_COUNT 4096

struct image_cache {
	const char *debug_path;
	bool lines, live;
	uint64_t begin; /* CLOCK_MONOTONIC ns: mappings whose start is not known are older than the cache */
	ARRAY(struct image_entry) entries;
	struct hash_index index;
	struct recent recent[RECENT_COUNT];
	bool vdso_tried;
	struct image *vdso;
	uint64_t vdso_size;
	struct image_key vdso_key;
	uint64_t failed;
};

struct image_cache *image_cache_new(const char *debug_path, bool lines, bool live)
{
	struct image_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		return NULL;
	cache->debug_path = debug_path;
	cache->lines = lines;
	cache->live = live;
	cache->begin = clock_monotonic();
	return cache;
}

void image_cache_free(struct image_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->entries.count; i++)
		image_free(cache->entries.items[i].image);
	array_free(&cache->entries);
	hash_index_free(&cache->index);
	image_free(cache->vdso);
	free(cache);
}

void image_cache_count(const struct image_cache *cache, uint64_t *images, uint64_t *failed)
{
	*images = cache->vdso != NULL;
	*failed = cache->failed;
	for (size_t i = 0; i < cache->entries.count; i++) {
		const struct image *image = cache->entries.items[i].image;
		*images += image != NULL;
		*failed += image ? image->damaged : 1;
		if (image && image->debug_info)
			*failed += debug_info_failed(image->debug_info);
	}
}

static void set_build_id(struct image_key *key, const uint8_t *build_id, size_t size)
{
	key->build_id_size = (uint32_t)(size < sizeof key->build_id ? size : sizeof key->build_id);
	if (key->build_id_size)
		memcpy(key->build_id, build_id, key->build_id_size);
}

static uint64_t key_hash(const struct image_key *key)
{
	return hash_bytes(key, sizeof *key, 0);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct image_cache *cache = context;
	return key_hash(&cache->entries.items[position].key);
}

static struct image_entry *find(struct image_cache *cache, const struct image_key *key)
{
	for (struct hash_probe probe = hash_index_probe(&cache->index, key_hash(key));
	     hash_index_next(&cache->index, &probe);)
		if (memcmp(&cache->entries.items[probe.position].key, key, sizeof *key) == 0)
			return &cache->entries.items[probe.position];
	return NULL;
}

/* Takes the image over; NULL stands for a damaged one. */
static int add(struct image_cache *cache, const struct image_key *key, struct image *image)
{
	struct image_entry entry = { .key = *key, .image = image };
	if (!array_push(&cache->entries, entry)) {
		image_free(image);
		return -ENOMEM;
	}
	if (!hash_index_add(&cache->index, key_hash(key), (uint32_t)(cache->entries.count - 1), rehash, cache)) {
		cache->entries.count--;
		image_free(image);
		return -ENOMEM;
	}
	return image ? 0 : -ENOEXEC;
}

static int get_file(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    struct image **image)
{
	struct image_key key = { 0 };
	set_build_id(&key, mapping->build_id, mapping->build_id_size);
	struct image_entry *entry = key.build_id_size ? find(cache, &key) : NULL;
	if (entry) {
		*image = entry->image;
		return entry->image ? 0 : -ENOEXEC;
	}
	struct mapped_file file;
	uint64_t latest = !cache->live ? 0 : mapping->begin ? mapping->begin : cache->begin;
	int code = mapped_file_open(&file, process, mapping, latest, cache->live);
	if (code && code != -ENOEXEC) {
		cache->failed++;
		return code;
	}
	if (!key.build_id_size) {
		key.identity = file.identity;
		entry = find(cache, &key);
		if (entry) {
			elf_file_close(&file.elf);
			*image = entry->image;
			return entry->image ? 0 : -ENOEXEC;
		}
	}
	struct image *made = NULL;
	if (!code) {
		struct image_place place = { .root = process->root,
					     .path = mapping->path,
					     .debug_path = cache->debug_path };
		made = image_new(&file.elf, &place, cache->lines);
		if (!made)
			return -ENOMEM;
	}
	code = add(cache, &key, made);
	*image = code ? NULL : made;
	return code;
}

static int get_vdso(struct image_cache *cache, const struct mapping *mapping, struct image **image)
{
	if (!cache->vdso_tried) {
		cache->vdso_tried = true;
		struct elf_file elf;
		if (vdso_open(&elf, &cache->vdso_size) == 0) {
			const uint8_t *build_id;
			size_t size = elf_file_build_id(&elf, &build_id);
			set_build_id(&cache->vdso_key, build_id, size);
			struct image_place place = { .root = -1, .debug_path = cache->debug_path };
			cache->vdso = image_new(&elf, &place, false);
		}
	}
	if (!cache->vdso)
		return -ENODATA;
	/* All processes of one running kernel have the same one; a replay may be of another kernel. */
	struct image_key key = { 0 };
	set_build_id(&key, mapping->build_id, mapping->build_id_size);
	bool same = key.build_id_size ? memcmp(&key, &cache->vdso_key, sizeof key) == 0
				      : cache->live && vdso_is_same(mapping, cache->vdso_size);
	*image = cache->vdso;
	return same ? 0 : -ENODATA;
}

int image_cache_get(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    struct image **image)
{
	uint64_t hash = hash_u64((uint64_t)process->serial << 32 | mapping->serial);
	struct recent *recent = &cache->recent[hash % RECENT_COUNT];
	if (recent->process != process->serial || recent->mapping != mapping->serial) {
		*recent = (struct recent){ .process = process->serial, .mapping = mapping->serial };
		if (strcmp(mapping->path, "[vdso]") == 0)
			recent->code = get_vdso(cache, mapping, &recent->image);
		else if (mapping->path[0] == '/')
			recent->code = get_file(cache, process, mapping, &recent->image);
		else
			recent->code = -ENODATA;
	}
	*image = recent->image;
	return recent->code;
}
