/* SPDX-License-Identifier: Apache-2.0 */
/* Images of device code: see device_images.h. */
#include "profile/device_images.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "base/sealed_file.h"
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
	struct remote_code_context context;
	ARRAY(struct device_image *) items; /* NULL: a free position */
	ARRAY(uint32_t) free_positions;
	struct hash_index by_identity;
	uint64_t size;
	bool said[REASON_COUNT];
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
		remote_code_identity(((const struct device_images *)context)->items.items[position]->code));
}

/* What one user's limits did to an image is no affair of another user who has the same one. */
static struct device_image *find(const struct device_images *images, struct code_identity identity, uint32_t owner)
{
	for (struct hash_probe probe = hash_index_probe(&images->by_identity, identity_hash(identity));
	     hash_index_next(&images->by_identity, &probe);) {
		struct device_image *image = images->items.items[probe.position];
		struct code_identity other = remote_code_identity(image->code);
		if (memcmp(&other, &identity, sizeof identity) == 0 && remote_code_owner(image->code) == owner)
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
			    texts[reason] ? texts[reason] : worker_reason(code));
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
	if (!hash_index_add(&images->by_identity, identity_hash(remote_code_identity(image->code)), image->position,
			    identity_rehash, images)) {
		images->items.items[image->position] = NULL;
		array_give_back(&images->free_positions, image->position);
		return false;
	}
	images->size += remote_code_identity(image->code).size;
	return true;
}

/* Hashing is all that is done with the bytes here; and the machine is read, which says whose affair they are. */
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

/* Takes the descriptor over. */
static int load(struct device_images *images, const struct remote_code_request *request, struct device_image **image)
{
	struct remote_code *code;
	int result = remote_code_load(&code, &images->context, request);
	if (result)
		return result;
	struct device_image *made = calloc(1, sizeof *made);
	if (made)
		*made = (struct device_image){ .images = images, .references = 1, .code = code };
	if (!made || !keep(images, made)) {
		free(made);
		remote_code_free(code);
		return -ENOMEM;
	}
	images->statistics.images++;
	images->statistics.damaged += remote_code_is_damaged(code);
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
	*image = find(images, request->identity, request->owner.owner);
	if (*image) {
		device_image_reference(*image);
		return 0;
	}
	if (size > DEVICE_IMAGES_SIZE_MAX - images->size)
		return -ENOSPC;
	request->descriptor = STEAL_DESCRIPTOR(sealed);
	return load(images, request, image);
}

int device_images_open(struct device_images *images, const char *path, uint32_t machine,
		       const struct file_identity *owner, struct device_image **image)
{
	struct remote_code_request request = { .path = path, .machine = machine, .owner = *owner };
	*image = NULL;
	int code = open_image(images, path, &request, image);
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
	if (image->code) {
		struct code_identity identity = remote_code_identity(image->code);
		hash_index_remove(&images->by_identity, identity_hash(identity), image->position);
		images->items.items[image->position] = NULL;
		array_give_back(&images->free_positions, image->position);
		images->size -= identity.size;
	}
	remote_code_free(image->code);
	free(image);
}

struct device_images_statistics device_images_statistics(const struct device_images *images)
{
	return images->statistics;
}
