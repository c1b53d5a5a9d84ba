/* SPDX-License-Identifier: Apache-2.0 */
/* The images of all processes, each file read once: a thousand processes with one C library share its image. */
#ifndef IAPROF_CORE_SYMBOLIZER_IMAGE_CACHE_H
#define IAPROF_CORE_SYMBOLIZER_IMAGE_CACHE_H

#include "process/process.h"
#include "symbolizer/image.h"

struct image_cache;

/* debug_path stays the caller's and outlives the cache. lines and live: as in struct symbolizer_options. */
struct image_cache *image_cache_new(const char *debug_path, bool lines, bool live);
void image_cache_free(struct image_cache *cache);

/*
 * The image that is mapped there. Returns 0, or a negative errno as mapped_file_open(): -ENOENT or -ESTALE when the
 * file is gone or replaced. The image belongs to the cache and lives as long as it does.
 */
int image_cache_get(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    struct image **image);

/* Files read; and files that could not be opened or were damaged, or parts of them. */
void image_cache_count(const struct image_cache *cache, uint64_t *images, uint64_t *failed);

#endif
