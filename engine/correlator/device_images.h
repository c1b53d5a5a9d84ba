/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference-counted images of device code, stored once per user even if loaded repeatedly. Files come from other users'
 * programs: failures to read them are logged once per reason and counted. Owned by one thread.
 */
#pragma once

#include "base/keyed_array.h"
#include "symbolizer/device/remote_code.h"

struct device_images;

struct device_image {
	struct device_images *images;
	uint64_t references;
	uint32_t position;        /* in images, of one with code */
	struct remote_code *code; /* NULL: not known; the image then represents one kernel */
	const char *kernel;       /* name, when code is NULL; interned */
};

struct device_images_statistics {
	uint64_t images;         /* different ones that were read */
	uint64_t unreadable;     /* files that are unreadable or not an image for the device */
	uint64_t damaged;        /* images some of which could not be used */
	uint64_t unplaced_units; /* units of debug information without an address, of all images */
};

/* Limit on the total size of all image files, in bytes. */
#define DEVICE_IMAGES_SIZE_MAX ((uint64_t)2 << 30)

/* Both arguments must outlive the images. */
struct device_images *device_images_new(struct code_workers *workers, struct budget *budget);
/* Must be called after all images were released. */
void device_images_free(struct device_images *images);

/*
 * Returns the image in a file, with a new reference. path: a regular file or /proc/self/fd/N; must stay valid for the
 * lifetime of the images. pid: the process that loaded it, for messages. machine: the required ELF machine. owner: the
 * user it is accounted to; only owner and mode are used. Returns 0 or a negative errno; the error has been logged and
 * counted.
 */
int device_images_open(struct device_images *images, const char *path, uint32_t pid, uint32_t machine,
		       const struct file_identity *owner, struct device_image **image);
/* Returns a placeholder for a kernel whose image is not known, with a new reference; NULL: out of memory. */
struct device_image *device_images_add_kernel(struct device_images *images, const char *kernel);
/* Callbacks for struct code_index_options; both take a struct device_image. The last release frees it. */
void device_image_reference(void *image);
void device_image_release(void *image);

struct device_images_statistics device_images_statistics(const struct device_images *images);
