/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of device code, each kept once for each user however often it is loaded, as long as something refers to it.
 * Files come from other users' programs: what cannot be read is said once for each reason and counted. Belongs to one
 * thread.
 */
#ifndef IAPROF_CORE_PROFILE_DEVICE_IMAGES_H
#define IAPROF_CORE_PROFILE_DEVICE_IMAGES_H

#include "base/hash.h"
#include "symbolizer/device/remote_code.h"

struct device_images;

struct device_image {
	struct device_images *images;
	uint64_t references;
	uint32_t position;        /* in images, of one with code */
	struct remote_code *code; /* NULL: not known; then it stands for one kernel */
	const char *kernel;       /* name, when code is NULL; interned */
};

struct device_images_statistics {
	uint64_t images;     /* different ones that were read */
	uint64_t unreadable; /* files that could not be read, or are no image for the device */
	uint64_t damaged;    /* images some of which could not be used */
};

/* What all images together may take, by the size of their files. */
#define DEVICE_IMAGES_SIZE_MAX ((uint64_t)2 << 30)

/* Both outlive the images. */
struct device_images *device_images_new(struct code_workers *workers, struct budget *budget);
/* After everything was released. */
void device_images_free(struct device_images *images);

/*
 * The image in a file, with a new reference. path: a regular file, or /proc/self/fd/N; lives as long as the images.
 * machine: what it must be for. owner: whose budget it takes, by its owner and mode. Returns 0 or a negative errno:
 * what was wrong has been said and counted.
 */
int device_images_open(struct device_images *images, const char *path, uint32_t machine,
		       const struct file_identity *owner, struct device_image **image);
/* Stands for a kernel whose image is not known, with a new reference; NULL: out of memory. */
struct device_image *device_images_add_kernel(struct device_images *images, const char *kernel);
/* Both take a struct device_image, as struct code_index_options wants them. The last release frees it. */
void device_image_reference(void *image);
void device_image_release(void *image);

struct device_images_statistics device_images_statistics(const struct device_images *images);

#endif
