/* SPDX-License-Identifier: Apache-2.0 */
/* The images of all processes. Each file is read once: a thousand processes with one C library share its image. */
#pragma once

#include "broker/broker.h"
#include "process/process.h"
#include "symbolizer/remote_image.h"

struct debuginfod;
struct kept_files;
struct image_cache;

struct image_cache_options {
	const char *debug_path;  /* outlives the cache */
	bool lines, live;        /* as in struct symbolizer_options */
	struct kept_files *kept; /* as in struct symbolizer_options */
	struct broker *broker;
	struct worker_pool *pool;
	struct budget *budget;
	struct debuginfod *debuginfod; /* NULL: none */
	uint64_t begin;                /* CLOCK_MONOTONIC ns: mappings with an unknown start are older; 0: now */
};

struct image_cache *image_cache_new(const struct image_cache_options *options);
void image_cache_free(struct image_cache *cache);
/* Returns the time before which mappings with an unknown start began. */
uint64_t image_cache_begin(const struct image_cache *cache);

/*
 * Finds the image mapped at an address, and its offset in the file. Returns 0, or a negative errno: -ENOENT or -ESTALE
 * if the file was removed or replaced, -ENODATA if the mapping is no copy of its file, others if it was rejected. The
 * image is owned by the cache and valid until image_cache_begin_period().
 */
int image_cache_get(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    uint64_t address, struct remote_image **image, uint64_t *file_offset);
/*
 * Prefetches the image mapped at an address of the process, and its source lines. Files that exceed the quick limits
 * are deferred.
 */
void image_cache_prefetch(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
			  uint64_t address, enum budget_patience patience);
/* Ends children that have not been asked for debug information for a minute, and closes files not used as long. */
void image_cache_rest(struct image_cache *cache);
/* Begins a period. With release_unused, frees the images that were not found in the previous one. */
void image_cache_begin_period(struct image_cache *cache, bool release_unused);
/* Makes image_cache_get() skip deferred images from now on. */
void image_cache_give_up(struct image_cache *cache);
/* Calls remote_image_lines(). */
size_t image_cache_lines(struct image_cache *cache, struct remote_image *image, uint64_t address,
			 struct debug_frame *frames, size_t capacity);

/* Counts files that were read, and files (or parts of them) that could not be opened or were damaged. */
void image_cache_count(const struct image_cache *cache, uint64_t *images, uint64_t *failed);
