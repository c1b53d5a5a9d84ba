/* SPDX-License-Identifier: Apache-2.0 */
/* The images of all processes, each file read once: a thousand processes with one C library share its image. */
#ifndef IAPROF_CORE_SYMBOLIZER_IMAGE_CACHE_H
#define IAPROF_CORE_SYMBOLIZER_IMAGE_CACHE_H

#include "broker/broker.h"
#include "process/process.h"
#include "symbolizer/remote_image.h"

struct image_cache;

struct image_cache_options {
	const char *debug_path; /* outlives the cache */
	bool lines, live;       /* as in struct symbolizer_options */
	struct broker *broker;
	struct worker_pool *pool;
	struct budget *budget;
};

struct image_cache *image_cache_new(const struct image_cache_options *options);
void image_cache_free(struct image_cache *cache);

/*
 * The image that is mapped there. Returns 0, or a negative errno: -ENOENT or -ESTALE when the file is gone or replaced,
 * others when it was refused. The image belongs to the cache and lives as long as it does.
 */
int image_cache_get(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
		    struct remote_image **image);
/*
 * Reads the image that is mapped there, and the lines at an address of the process, before they are asked for. What
 * needs more patience is put off.
 */
void image_cache_look_ahead(struct image_cache *cache, const struct process *process, const struct mapping *mapping,
			    uint64_t address, enum budget_patience patience);
/* From now on, image_cache_get() reads no image that was put off. */
void image_cache_give_up(struct image_cache *cache);
/* Its lines: see remote_image_lines(). */
size_t image_cache_lines(struct image_cache *cache, struct remote_image *image, uint64_t address,
			 struct debug_frame *frames, size_t capacity);

/* Files read; and files that could not be opened or were damaged, or parts of them. */
void image_cache_count(const struct image_cache *cache, uint64_t *images, uint64_t *failed);

#endif
