/* SPDX-License-Identifier: Apache-2.0 */
/* See image_cache.h. */
#include "symbolizer/image_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/keyed_array.h"
#include "process/kept_files.h"
#include "symbolizer/copied_text.h"
#include "symbolizer/debuginfod.h"
#include "symbolizer/image_files.h"
#include "symbolizer/mapped_file.h"
#include "symbolizer/open_files.h"
#include "symbolizer/vdso.h"

/*
 * Identifies an image: the file, and where its debug files are searched, because the first process that mapped it must
 * not decide that for others. Zeroed before it is filled, so that it can be compared as bytes.
 */
struct image_key {
	struct file_identity file;
	uint64_t root_device, root_inode; /* 0: iaprof's own */
	uint64_t path[2];                 /* fingerprint of the path */
};

struct image_entry {
	struct image_key key;
	struct remote_image *image; /* NULL: rejected */
	int code;
	bool awaits; /* its debug file is being fetched, and it is read again then */
};

/* Cached result for one mapping of one process, so that the file is not searched for each address. */
struct recent {
	uint32_t process, mapping; /* serial numbers; 0 if none */
	int code;
	int64_t shift; /* of file offsets, if the mapping is a copy */
	struct remote_image *image;
};

/* With more pairs, searches are repeated: memory does not grow with the number of processes. */
#define RECENT_COUNT 4096

/* Limit on children that are kept to read debug information; beyond it, the least recently used one is ended. */
#define READERS_MAX 16
#define READER_TIME (60 * NANOSECONDS_PER_SECOND)
/* Time for which files are kept open. */
#define FILE_TIME (60 * NANOSECONDS_PER_SECOND)

struct image_cache {
	struct image_cache_options options;
	struct remote_image_context context;
	uint64_t begin; /* CLOCK_MONOTONIC ns: mappings with an unknown start are older than the cache */
	KEYED_ARRAY(struct image_entry) entries;
	struct open_files files;
	uint64_t period;
	struct recent recent[RECENT_COUNT];
	bool vdso_tried;
	struct remote_image *vdso;
	uint64_t vdso_size;
	uint64_t failed;
	uint64_t released; /* images that were read and released */
	bool gave_up;      /* deferred images are no longer read */
};

struct image_cache *image_cache_new(const struct image_cache_options *options)
{
	struct image_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		return NULL;
	cache->options = *options;
	cache->context = (struct remote_image_context){ .pool = options->pool, .budget = options->budget };
	open_files_init(&cache->files);
	cache->begin = options->begin ? options->begin : clock_monotonic();
	return cache;
}

uint64_t image_cache_begin(const struct image_cache *cache)
{
	return cache->begin;
}

void image_cache_free(struct image_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->entries.count; i++)
		remote_image_free(cache->entries.items[i].image, &cache->context);
	keyed_array_free(&cache->entries);
	open_files_free(&cache->files);
	remote_image_free(cache->vdso, &cache->context);
	free(cache);
}

static uint64_t count_damage(const struct remote_image *image)
{
	return (uint64_t)__builtin_popcount(image->damage) + image->units_damaged;
}

void image_cache_count(const struct image_cache *cache, uint64_t *images, uint64_t *failed)
{
	*images = (cache->vdso != NULL) + cache->released;
	*failed = cache->failed;
	for (size_t i = 0; i < cache->entries.count; i++) {
		const struct remote_image *image = cache->entries.items[i].image;
		*images += image != NULL;
		*failed += image ? count_damage(image) : 1;
	}
}

/* Takes ownership of the image. */
static int add_entry(struct image_cache *cache, const struct image_entry *entry)
{
	if (keyed_array_add(&cache->entries, entry) != POSITION_NONE)
		return entry->code;
	remote_image_free(entry->image, &cache->context);
	return -ENOMEM;
}

/* Ends the least recently used child if there are too many. */
static void limit_readers(struct image_cache *cache)
{
	struct remote_image *oldest = NULL;
	size_t count = 0;
	for (size_t i = 0; i < cache->entries.count; i++) {
		struct remote_image *image = cache->entries.items[i].image;
		if (!image || image->child.socket < 0)
			continue;
		count++;
		if (!oldest || image->used < oldest->used)
			oldest = image;
	}
	if (count > READERS_MAX)
		remote_image_rest(oldest, &cache->context);
}

void image_cache_rest(struct image_cache *cache)
{
	uint64_t now = clock_monotonic();
	for (size_t i = 0; i < cache->entries.count; i++) {
		struct remote_image *image = cache->entries.items[i].image;
		if (image && image->child.socket >= 0 && now - image->used > READER_TIME)
			remote_image_rest(image, &cache->context);
	}
	open_files_close(&cache->files, now > FILE_TIME ? now - FILE_TIME : 0);
}

void image_cache_begin_period(struct image_cache *cache, bool release_unused)
{
	for (uint32_t i = (uint32_t)cache->entries.count; release_unused && i-- > 0;) {
		struct remote_image *image = cache->entries.items[i].image;
		if (!image || image->period == cache->period)
			continue;
		cache->failed += count_damage(image);
		cache->released++;
		remote_image_free(image, &cache->context);
		keyed_array_remove(&cache->entries, i);
	}
	if (release_unused)
		memset(cache->recent, 0, sizeof cache->recent);
	cache->period++;
}

/* Does not query a file server, which might not reply. Returns false if the root cannot be identified. */
static bool make_key(const struct mapped_file *file, const char *path, struct image_key *key)
{
	struct statx status;
	memset(key, 0, sizeof *key);
	key->file = file->identity;
	hash_fingerprint(path, strlen(path), key->path);
	if (file->root < 0)
		return true;
	if (statx(file->root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status))
		return false;
	key->root_device = makedev(status.stx_dev_major, status.stx_dev_minor);
	key->root_inode = status.stx_ino;
	return true;
}

static int load(struct image_cache *cache, const struct mapped_file *file, const char *path,
		enum budget_patience patience, struct remote_image **image, struct image_files *files)
{
	*files = (struct image_files){ .broker = cache->options.broker,
				       .budget = cache->options.budget,
				       .debug_path = cache->options.debug_path,
				       .root = file->root,
				       .path = path[0] == '/' && file->root != PROCESS_ROOT_UNREACHABLE ? path : NULL,
				       .image = &file->identity,
				       .debuginfod = path[0] == '/' ? cache->options.debuginfod : NULL,
				       .name = path };
	struct debug_file_finder finder = { .context = files, .open = image_files_open };
	return remote_image_load(image, &cache->context,
				 &(struct remote_image_request){ .descriptor = file->descriptor,
								 .file = &file->identity,
								 .path = path,
								 .lines = cache->options.lines,
								 .patience = patience,
								 .own_root = file->root == PROCESS_ROOT_OWN,
								 .may_be_data = mapping_path_is_in_memory(path),
								 .finder = &finder });
}

/* Waits for the debug file of an image, as long as the run permits, and reads the image again. */
static int load_again(struct image_cache *cache, const struct mapped_file *file, const char *path,
		      struct remote_image **image)
{
	struct image_files files;
	if (!debuginfod_wait(cache->options.debuginfod, (*image)->build_id, (*image)->build_id_size))
		return 0;
	remote_image_free(STEAL_POINTER(*image), &cache->context);
	return load(cache, file, path, BUDGET_FULL, image, &files);
}

static int check_build_id(const struct remote_image *image, const struct mapping *mapping)
{
	if (!mapping->build_id_size)
		return 0;
	/* A mapping record has room for 20 bytes; a longer build id is truncated. */
	bool is_same =
		image->build_id_size == mapping->build_id_size ||
		(image->build_id_size > mapping->build_id_size && mapping->build_id_size == IAPROF_BUILD_ID_SIZE_MAX);
	return is_same && !memcmp(mapping->build_id, image->build_id, mapping->build_id_size) ? 0 : -ESTALE;
}

/* Opens the file of a mapping that was deleted or replaced, if it was kept. */
static int open_kept(const struct image_cache *cache, const struct mapping *mapping, int root, struct mapped_file *file)
{
	struct stat status;
	int descriptor =
		kept_files_open(cache->options.kept, &(struct kept_file_key){ mapping->path, mapping->inode }, &status);
	if (descriptor < 0)
		return descriptor;
	*file = (struct mapped_file){
		.descriptor = descriptor,
		.identity = { .device = status.st_dev,
			      .inode = status.st_ino,
			      .size = (uint64_t)status.st_size,
			      .modified = timespec_nanoseconds(&status.st_mtim),
			      .changed = timespec_nanoseconds(&status.st_ctim),
			      .owner = status.st_uid,
			      .mode = status.st_mode & 07777 },
		.root = root,
	};
	return 0;
}

/* Finds the image of a file that is still open, or why there is none. Returns false if it has to be opened. */
static bool get_open_file(struct image_cache *cache, const struct mapped_file_request *request,
			  struct remote_image **image, int *code)
{
	struct mapped_file file = { .root = PROCESS_ROOT_OWN };
	struct image_key key;
	if (!open_files_find(&cache->files, request, &file.identity) || !make_key(&file, request->mapping->path, &key))
		return false;
	const struct image_entry *known = keyed_array_get(&cache->entries, &key);
	if (!known || known->awaits)
		return false;
	*image = known->image;
	*code = known->code;
	return true;
}

static void close_file(struct mapped_file **file)
{
	if ((*file)->descriptor >= 0)
		close((*file)->descriptor);
}

/* Reads a file once for all processes that map it, unless it changes. */
static int get_file(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    enum budget_patience patience, struct remote_image **image)
{
	bool live = cache->options.live;
	/* The time spent waiting is charged to the user of the process, not to the owner of the file. */
	struct file_identity who = { .owner = process->user, .mode = BUDGET_NEVER_TRUSTED };
	struct deadline deadline = budget_deadline(cache->options.budget, &who, BUDGET_FULL);
	struct mapped_file file;
	struct mapped_file_request request = {
		.process = process,
		.mapping = mapping,
		.latest = !live            ? 0
			  : mapping->begin ? mapping->begin
					   : cache->begin,
		.live = live,
		.deadline = &deadline,
	};
	int code;
	if (get_open_file(cache, &request, image, &code))
		return code;
	code = budget_is_spent(cache->options.budget, &who) ? -EDQUOT
							    : mapped_file_open(&file, cache->options.broker, &request);
	if ((code == -ENOENT || code == -ESTALE) && live && open_kept(cache, mapping, process->root, &file) == 0)
		code = 0;
	if (code) {
		cache->failed++;
		if (code != -ENOENT && code != -ESTALE && code != -ENODATA)
			budget_refuse(cache->options.budget, &who, mapping->path,
				      open_reason(cache->options.budget, code),
				      code == -ETIMEDOUT ? deadline_spent(&deadline) : 0);
		return code;
	}
	CLEANUP(close_file) struct mapped_file *opened = &file;
	struct image_key key;
	if (!make_key(&file, mapping->path, &key))
		return -ENODATA;
	struct image_entry *known = keyed_array_get(&cache->entries, &key);
	if (known && known->awaits && patience == BUDGET_FULL) {
		known->awaits = false;
		known->code = load_again(cache, &file, mapping->path, &known->image);
	}
	if (!known) {
		struct image_entry entry = { .key = key };
		struct image_files files;
		entry.code = load(cache, &file, mapping->path, patience, &entry.image, &files);
		if (entry.code == -EAGAIN)
			return entry.code;
		entry.awaits = !entry.code && files.awaits;
		if (entry.awaits && patience == BUDGET_FULL) {
			entry.awaits = false;
			entry.code = load_again(cache, &file, mapping->path, &entry.image);
		}
		code = add_entry(cache, &entry);
		if (code)
			return code;
		limit_readers(cache);
		known = &cache->entries.items[cache->entries.count - 1];
	}
	if (known->awaits && !cache->gave_up)
		return -EAGAIN;
	*image = known->image;
	if (budget_trusts(cache->options.budget, &file.identity))
		open_files_add(&cache->files, &request, opened);
	code = known->code ? known->code : check_build_id(known->image, mapping);
	cache->failed += code == -ESTALE;
	return code;
}

static int get_vdso(struct image_cache *cache, const struct mapping *mapping, struct remote_image **image)
{
	if (!cache->vdso_tried) {
		cache->vdso_tried = true;
		CLEANUP_CLOSE int descriptor = vdso_open(&cache->vdso_size);
		struct mapped_file file = { .descriptor = descriptor, .root = PROCESS_ROOT_OWN };
		if (descriptor >= 0)
			load(cache, &file, mapping->path, BUDGET_FULL, &cache->vdso, &(struct image_files){ 0 });
	}
	if (!cache->vdso)
		return -ENODATA;
	/* All processes of a running Linux kernel share one vDSO; a replay may come from another Linux kernel. */
	bool same = mapping->build_id_size ? !check_build_id(cache->vdso, mapping)
					   : cache->options.live && vdso_is_same(mapping, cache->vdso_size);
	*image = cache->vdso;
	return same ? 0 : -ENODATA;
}

size_t image_cache_lines(struct image_cache *cache, struct remote_image *image, uint64_t address,
			 struct debug_frame *frames, size_t capacity)
{
	size_t count = remote_image_lines(image, &cache->context, address, frames, capacity);
	limit_readers(cache);
	return count;
}

/* Compares a copy with its file, and finds the image of that. */
static int get_copied(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		      enum budget_patience patience, struct recent *recent)
{
	struct budget *budget = cache->options.budget;
	struct file_identity who = { .owner = process->user, .mode = BUDGET_NEVER_TRUSTED };
	struct deadline deadline = budget_deadline(budget, &who, BUDGET_FULL);
	struct copied_text_helpers helpers = { cache->options.broker, cache->options.pool, budget };
	struct mapped_file_request request = {
		.process = process, .mapping = mapping, .live = cache->options.live, .deadline = &deadline
	};
	int code = budget_is_spent(budget, &who) ? -EDQUOT : copied_text_compare(&helpers, &request, &recent->shift);
	return code ? -ENODATA : get_file(cache, process, mapping, patience, &recent->image);
}

static int get_image(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		     enum budget_patience patience, uint64_t address, struct remote_image **image,
		     uint64_t *file_offset)
{
	uint64_t hash = hash_u64((uint64_t)process->serial << 32 | mapping->serial);
	struct recent *recent = &cache->recent[hash % RECENT_COUNT];
	bool is_known = recent->process == process->serial && recent->mapping == mapping->serial;
	if (!is_known || (recent->code == -EAGAIN && patience == BUDGET_FULL)) {
		*recent = (struct recent){ .process = process->serial, .mapping = mapping->serial };
		if (strcmp(mapping->path, "[vdso]") == 0)
			recent->code = get_vdso(cache, mapping, &recent->image);
		else if (mapping->flags & IAPROF_MAPPING_COPIED)
			recent->code = get_copied(cache, process, mapping, patience, recent);
		else if (mapping->path[0] == '/')
			recent->code = get_file(cache, process, mapping, patience, &recent->image);
		else
			recent->code = -ENODATA;
	}
	if (recent->code == -EAGAIN && cache->gave_up) {
		recent->code = -ETIMEDOUT;
		budget_refuse(cache->options.budget, NULL, mapping->path, "the run ended before it was read", 0);
	}
	*file_offset = address - mapping->start + mapping->file_offset + (uint64_t)recent->shift;
	*image = recent->image;
	if (*image)
		(*image)->period = cache->period;
	return recent->code;
}

int image_cache_get(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    uint64_t address, struct remote_image **image, uint64_t *file_offset)
{
	return get_image(cache, process, mapping, cache->gave_up ? BUDGET_QUICK : BUDGET_FULL, address, image,
			 file_offset);
}

void image_cache_prefetch(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
			  uint64_t address, enum budget_patience patience)
{
	struct remote_image *image;
	uint64_t file_offset;
	if (get_image(cache, process, mapping, patience, address, &image, &file_offset) || !image->units.count ||
	    !remote_image_address(image, file_offset, &address))
		return;
	remote_image_prefetch(image, &cache->context, address);
	limit_readers(cache);
}

void image_cache_give_up(struct image_cache *cache)
{
	cache->gave_up = true;
}
