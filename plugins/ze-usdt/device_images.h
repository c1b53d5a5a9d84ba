/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache of device code images that other processes wrote to files: read once, validated, and kept for a while in sealed
 * memory files. Identical images share one copy.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "broker/broker.h"
#include "code_range.h"
#include "image_file_cleanup.h"
#include "process/user_accounts.h"

struct device_image {
	uint64_t hash;
	uint64_t size;
	uint64_t last_used;
	struct code_range range;
	uint32_t user;    /* who announced it first */
	uint64_t charged; /* to that user, bytes */
	int descriptor;   /* its path is /proc/self/fd/NUMBER */
};

/* Initialise with {0} and device_images_init(). */
struct device_images {
	struct device_image *items;
	size_t count;
	size_t capacity;            /* maximum count */
	uint64_t bytes;             /* total size */
	struct user_accounts users; /* amount: what is charged */
	struct broker *broker;      /* opens the files of processes */
	struct image_file_cleanup cleanup;
};

/* Returns 0 or a negative errno. */
int device_images_init(struct device_images *cache);

/* An announced image and its path. */
struct announced_image {
	const char *path; /* in the process's mount namespace */
	uint32_t process;
	uint32_t user; /* the required owner of the file */
};

/*
 * Reads an image. A file written by our tracer is deleted some seconds later. Returns NULL with the reason in *reason,
 * a clause. The image stays valid until the next call more than KEEP_TIME later.
 */
const struct device_image *device_images_read(struct device_images *cache, const struct announced_image *claim,
					      uint64_t now, const char **reason);

/* Closes images that were not used for ten seconds, and deletes files that were read a while ago. */
void device_images_expire(struct device_images *cache, uint64_t now);
void device_images_free(struct device_images *cache);
