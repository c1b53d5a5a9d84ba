/* SPDX-License-Identifier: Apache-2.0 */
/* Images of device code: see device_images.h. */
#include "correlator/device_images.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "base/saturating.h"
#include "base/sealed_file.h"
#include "base/regular_file.h"

#define DESCRIPTOR_PREFIX "/proc/self/fd/"

/* Why an image could not be read. */
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

/*
 * Images are separate for each owner, because an owner's limits decide how much of an image is read.
 */
struct stored_image {
	struct {
		struct code_identity identity;
		uint64_t owner;
	} key;
	struct device_image *image;
};

struct device_images {
	struct remote_code_context context;
	KEYED_ARRAY(struct stored_image) items;
	ARRAY(uint32_t) free_positions;
	uint64_t size;
	bool logged[REASON_COUNT];
	struct device_images_statistics statistics;
};

struct device_images *device_images_new(struct code_workers *workers, struct budget *budget)
{
	struct device_images *images = calloc(1, sizeof *images);
	if (images)
		images->context = (struct remote_code_context){ .workers = workers, .budget = budget };
	return images;
}

void device_images_free(struct device_images *images)
{
	if (!images)
		return;
	keyed_array_free(&images->items);
	array_free(&images->free_positions);
	free(images);
}

/* Opens a path. The only links that are followed are descriptors in /proc, because a memfd has no other path. */
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

static int refuse(struct device_images *images, const struct remote_code_request *request, int code)
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
	char text[128];
	images->statistics.unreadable++;
	if (!images->logged[reason])
		log_message(IAPROF_LOG_WARNING, "%.200s: %s: its kernels have no source lines", request->name,
			    texts[reason]
				    ? texts[reason]
				    : remote_code_reason(&images->context, request->machine, code, text, sizeof text));
	images->logged[reason] = true;
	return code;
}

/* Stores an opened image. Returns false when out of memory. */
static bool store_image(struct device_images *images, struct device_image *image)
{
	struct stored_image stored = { .key = { remote_code_identity(image->code), remote_code_owner(image->code) },
				       .image = image };
	image->position = keyed_array_take(&images->items, &images->free_positions, &stored);
	if (image->position == POSITION_NONE)
		return false;
	images->size += stored.key.identity.size;
	return true;
}

/* Hashes the bytes and reads the machine, which selects the worker; nothing else of the image is parsed here. */
static int identify(int descriptor, uint64_t size, struct code_identity *identity, uint32_t *machine)
{
	Elf64_Half named;
	if (size < sizeof(Elf64_Ehdr))
		return -ENOEXEC;
	char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*identity = code_identity_make(bytes, size);
	memcpy(&named, bytes + offsetof(Elf64_Ehdr, e_machine), sizeof named);
	*machine = *machine ? *machine : named;
	munmap(bytes, size);
	return 0;
}

/* Takes ownership of the descriptor. */
static int load(struct device_images *images, const struct remote_code_request *request, struct device_image **image)
{
	struct remote_code *code;
	int result = remote_code_load(&code, &images->context, request);
	if (result)
		return result;
	struct device_image *made = calloc(1, sizeof *made);
	if (made)
		*made = (struct device_image){ .images = images, .references = 1, .code = code };
	if (!made || !store_image(images, made)) {
		free(made);
		remote_code_free(code);
		return -ENOMEM;
	}
	images->statistics.images++;
	images->statistics.damaged += remote_code_is_damaged(code);
	images->statistics.unplaced_units =
		saturating_add(images->statistics.unplaced_units, remote_code_unplaced_units(code));
	*image = made;
	return 0;
}

static int open_image(struct device_images *images, const char *path, struct remote_code_request *request,
		      struct device_image **image)
{
	CLEANUP_CLOSE int file = open_path(path);
	if (file < 0)
		return file;
	uint64_t size;
	CLEANUP_CLOSE int sealed = sealed_file_of(file, CODE_OBJECT_SIZE_MAX, &size);
	if (sealed < 0)
		return sealed;
	int code = identify(sealed, size, &request->identity, &request->machine);
	if (code)
		return code;
	struct stored_image wanted = { .key = { request->identity, request->owner.owner } };
	const struct stored_image *known = keyed_array_get(&images->items, &wanted.key);
	if (known) {
		*image = known->image;
		device_image_reference(*image);
		return 0;
	}
	if (size > DEVICE_IMAGES_SIZE_MAX - images->size)
		return -ENOSPC;
	request->descriptor = STEAL_DESCRIPTOR(sealed);
	return load(images, request, image);
}

/* Returns what messages call an image: a descriptor's number would mean nothing to a user. */
static const char *name_of(struct device_images *images, const char *path, uint32_t pid)
{
	char text[64];
	if (strncmp(path, DESCRIPTOR_PREFIX, strlen(DESCRIPTOR_PREFIX)) != 0)
		return path;
	int length = snprintf(text, sizeof text, "GPU code of process %" PRIu32, pid);
	const char *name = string_table_intern(&images->context.budget->strings, text, (size_t)length);
	return name ? name : path;
}

int device_images_open(struct device_images *images, const char *path, uint32_t pid, uint32_t machine,
		       const struct file_identity *owner, struct device_image **image)
{
	struct remote_code_request request = { .name = name_of(images, path, pid),
					       .machine = machine,
					       .owner = *owner };
	*image = NULL;
	int code = open_image(images, path, &request, image);
	return code ? refuse(images, &request, code) : 0;
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
	if (image->code) {
		images->size -= remote_code_identity(image->code).size;
		keyed_array_give_back(&images->items, &images->free_positions, image->position);
	}
	remote_code_free(image->code);
	free(image);
}

struct device_images_statistics device_images_statistics(const struct device_images *images)
{
	return images->statistics;
}
