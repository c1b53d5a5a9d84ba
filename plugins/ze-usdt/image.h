/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of device code that other processes left in files: read once, checked, and kept for a while in files in memory
 * that nobody else can change. Identical images share one.
 */
#ifndef IAPROF_ZE_USDT_IMAGE_H
#define IAPROF_ZE_USDT_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include "elf_bytes.h"
#include "taken_files.h"

struct image {
	uint64_t hash;
	uint64_t size;
	uint64_t last_used;
	struct code_range range;
	int descriptor; /* its path is /proc/self/fd/NUMBER */
};

/* Initialise with {0} and image_cache_init(). */
struct image_cache {
	struct image *items;
	size_t count;
	size_t capacity; /* the most that are kept */
	uint64_t bytes;  /* of all of them */
	struct taken_files taken;
};

/* Returns 0 or a negative errno. */
int image_cache_init(struct image_cache *cache);

/* Who announced an image, and where it is said to be. */
struct image_claim {
	const char *path; /* as the process sees it */
	uint32_t process;
	uint32_t user; /* whom the file has to belong to */
};

/*
 * Reads an image; its file is removed some seconds later when it is one of our tracer's. Returns NULL after setting
 * *reason to what is wrong, a whole clause. The image is there until the cache is asked for another one after
 * KEEP_TIME, at least.
 */
const struct image *image_read(struct image_cache *cache, const struct image_claim *claim, uint64_t now,
			       const char **reason);

/* Closes what nobody asked for during the last ten seconds, and removes files that were read a while ago. */
void image_cache_expire(struct image_cache *cache, uint64_t now);
void image_cache_free(struct image_cache *cache);

#endif
