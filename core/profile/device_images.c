/* SPDX-License-Identifier: Apache-2.0 */
/* Images of device code: see device_images.h. */
#include "profile/device_images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "symbolizer/regular_file.h"

#define DESCRIPTOR_PREFIX "/proc/self/fd/"

/* Why an image is not used. */
enum reason {
	REASON_GONE,
	REASON_NO_FILE,
	REASON_RIGHTS,
	REASON_TOO_LARGE,
	REASON_NO_IMAGE,
	REASON_TOO_MANY,
	REASON_OTHER,
	REASON_COUNT
};

struct device_images {
	struct decoders *decoders;
	ARRAY(struct device_image *) items; /* NULL: a free position */
	ARRAY(uint32_t) free_positions;
	struct hash_index by_identity;
	uint64_t size;
	bool said[REASON_COUNT];
	struct device_images_statistics statistics;
};

struct device_images *device_images_new(struct decoders *decoders)
{
	struct device_images *images = calloc(1, sizeof *images);
	if (images)
		images->decoders = decoders;
	return images;
}

void device_images_free(struct device_images *images)
{
	if (!images)
		return;
	array_free(&images->items);
	array_free(&images->free_positions);
	hash_index_free(&images->by_identity);
	free(images);
}

static uint64_t identity_hash(struct code_identity identity)
{
	return identity.hashes[0];
}

static uint64_t identity_rehash(const void *context, uint32_t position)
{
	return identity_hash(
		code_object_identity(((const struct device_images *)context)->items.items[position]->object));
}

static struct device_image *find(const struct device_images *images, struct code_identity identity)
{
	for (struct hash_probe probe = hash_index_probe(&images->by_identity, identity_hash(identity));
	     hash_index_next(&images->by_identity, &probe);) {
		struct device_image *image = images->items.items[probe.position];
		struct code_identity other = code_object_identity(image->object);
		if (memcmp(&other, &identity, sizeof identity) == 0)
			return image;
	}
	return NULL;
}

/* A memfd has no other path, and links of /proc are not followed anywhere else. */
static int open_path(const char *path)
{
	size_t prefix = strlen(DESCRIPTOR_PREFIX);
	if (strncmp(path, DESCRIPTOR_PREFIX, prefix) != 0)
		return regular_file_open(-1, path, O_NOFOLLOW);
	if (!path[prefix] || path[prefix + strspn(path + prefix, "0123456789")])
		return -EINVAL;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return descriptor < 0 ? -errno : descriptor;
}

static enum reason reason_of(int code)
{
	switch (-code) {
	case ENOENT:
		return REASON_GONE;
	case EINVAL:
	case EISDIR:
	case ELOOP:
	case ENOTDIR:
	case ENXIO:
		return REASON_NO_FILE;
	case EACCES:
	case EPERM:
		return REASON_RIGHTS;
	case EFBIG:
		return REASON_TOO_LARGE;
	case ENOEXEC:
		return REASON_NO_IMAGE;
	case ENOSPC:
		return REASON_TOO_MANY;
	default:
		return REASON_OTHER;
	}
}

static int refuse(struct device_images *images, const char *path, int code)
{
	static const char *const texts[REASON_COUNT] = {
		[REASON_GONE] = "it was removed before it could be read",
		[REASON_NO_FILE] = "it is not a regular file",
		[REASON_RIGHTS] = "no right to read it",
		[REASON_TOO_LARGE] = "it is too large",
		[REASON_NO_IMAGE] = "it is no code for the device, or is damaged",
		[REASON_TOO_MANY] = "all images together are too large",
	};
	enum reason reason = reason_of(code);
	images->statistics.unreadable++;
	if (!images->said[reason])
		log_message(IAPROF_LOG_WARNING, "device code %.200s: %s: its kernels have no source lines", path,
			    texts[reason] ? texts[reason] : strerror(-code));
	images->said[reason] = true;
	return code;
}

/* Gives an opened image its place. False when out of memory. */
static bool keep(struct device_images *images, struct device_image *image)
{
	image->position = array_take(&images->items, &images->free_positions);
	if (image->position == POSITION_NONE)
		return false;
	images->items.items[image->position] = image;
	if (!hash_index_add(&images->by_identity, identity_hash(code_object_identity(image->object)), image->position,
			    identity_rehash, images)) {
		images->items.items[image->position] = NULL;
		array_give_back(&images->free_positions, image->position);
		return false;
	}
	images->size += code_object_identity(image->object).size;
	return true;
}

static bool is_damaged(const struct code_object *object)
{
	struct code_damage damage = code_object_damage(object), none = { 0 };
	return memcmp(&damage, &none, sizeof none) != 0;
}

static int open_image(struct device_images *images, const char *path, uint32_t machine, struct device_image **image)
{
	CLEANUP_CLOSE int descriptor = open_path(path);
	if (descriptor < 0)
		return descriptor;
	CLEANUP_FREE char *bytes = NULL;
	size_t size;
	int code = code_object_read_file(descriptor, &bytes, &size);
	if (code)
		return code;
	*image = find(images, code_identity_make(bytes, size));
	if (*image) {
		device_image_reference(*image);
		return 0;
	}
	if (size > DEVICE_IMAGES_SIZE_MAX - images->size)
		return -ENOSPC;
	struct code_object *object;
	code = machine > UINT16_MAX ? -ENOEXEC
				    : code_object_open(&object, STEAL_POINTER(bytes), size, (uint16_t)machine);
	if (code)
		return code;
	struct device_image *made = calloc(1, sizeof *made);
	if (made)
		*made = (struct device_image){ .images = images, .references = 1, .object = object };
	if (!made || !keep(images, made)) {
		free(made);
		code_object_release(object);
		return -ENOMEM;
	}
	images->statistics.images++;
	images->statistics.damaged += is_damaged(object);
	*image = made;
	return 0;
}

int device_images_open(struct device_images *images, const char *path, uint32_t machine, struct device_image **image)
{
	*image = NULL;
	int code = open_image(images, path, machine, image);
	return code ? refuse(images, path, code) : 0;
}

struct device_image *device_images_add_kernel(struct device_images *images, const char *kernel)
{
	struct device_image *image = calloc(1, sizeof *image);
	if (image)
		*image = (struct device_image){ .images = images, .references = 1, .kernel = kernel };
	return image;
}

void device_image_reference(void *image)
{
	((struct device_image *)image)->references++;
}

void device_image_release(void *pointer)
{
	struct device_image *image = pointer;
	if (!image || --image->references)
		return;
	struct device_images *images = image->images;
	if (image->object) {
		struct code_identity identity = code_object_identity(image->object);
		hash_index_remove(&images->by_identity, identity_hash(identity), image->position);
		images->items.items[image->position] = NULL;
		array_give_back(&images->free_positions, image->position);
		images->size -= identity.size;
	}
	code_reader_free(image->reader);
	code_object_release(image->object);
	free(image);
}

struct code_reader *device_image_reader(struct device_image *image)
{
	if (image->object && !image->reader) {
		struct decoders *decoders = image->images->decoders;
		image->reader = code_reader_new(
			image->object, decoders ? decoders_find(decoders, code_object_machine(image->object)) : NULL);
	}
	return image->reader;
}

struct device_images_statistics device_images_statistics(const struct device_images *images)
{
	return images->statistics;
}
