/* SPDX-License-Identifier: Apache-2.0 */
/* See device_images.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/keyed_hash.h"
#include "base/sealed_file.h"
#include "device_images.h"

/* The record that names an image guarantees 5 seconds. */
#define KEEP_TIME UINT64_C(10000000000) /* ns */
#define KEEP_TIME_LEAST UINT64_C(5000000000)
/* The largest real images (oneDNN and PyTorch with debug information) have tens of MiB. */
#define IMAGE_SIZE_MAX (UINT64_C(256) << 20)
#define CACHE_BYTES_MAX (UINT64_C(1) << 30)
#define CACHE_COUNT_MAX 1024u
/* Parts of the size: what one untrusted user may use, and all of them together. A small image counts as this much. */
#define CACHE_USER_MAX (UINT64_C(256) << 20)
#define CACHE_OTHERS_MAX (UINT64_C(512) << 20)
#define IMAGE_COST_MIN (UINT64_C(1) << 20)

int device_images_init(struct device_images *cache)
{
	struct rlimit limit;

	/* Half of the process's descriptors are reserved for others. */
	cache->capacity = CACHE_COUNT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < cache->capacity)
		cache->capacity = limit.rlim_cur / 2;
	user_accounts_init(&cache->users);
	cache->items = calloc(cache->capacity ? cache->capacity : 1, sizeof *cache->items);
	return cache->items ? 0 : -ENOMEM;
}

/* Charges an image to its user. Returns false if there is no room for it. */
static bool charge(struct device_images *cache, struct device_image *image)
{
	image->charged = image->size > IMAGE_COST_MIN ? image->size : IMAGE_COST_MIN;
	if (user_accounts_trust(&cache->users, image->user))
		image->charged = 0;
	return !image->charged ||
	       user_accounts_take(&cache->users, image->user, image->charged, CACHE_USER_MAX, CACHE_OTHERS_MAX);
}

static void give_back(struct device_images *cache, const struct device_image *image)
{
	if (image->charged)
		user_accounts_give_back(&cache->users, image->user, image->charged);
}

static void image_close(struct device_images *cache, size_t index)
{
	give_back(cache, &cache->items[index]);
	cache->bytes -= cache->items[index].size;
	close(cache->items[index].descriptor);
	cache->items[index] = cache->items[--cache->count];
}

static void cache_expire(struct device_images *cache, uint64_t now, uint64_t age)
{
	for (size_t i = cache->count; i-- > 0;)
		if (now - cache->items[i].last_used > age)
			image_close(cache, i);
}

void device_images_expire(struct device_images *cache, uint64_t now)
{
	cache_expire(cache, now, KEEP_TIME);
	image_file_cleanup_expire(&cache->cleanup, now);
}

void device_images_free(struct device_images *cache)
{
	while (cache->count)
		image_close(cache, 0);
	free(cache->items);
	user_accounts_free(&cache->users);
	image_file_cleanup_free(&cache->cleanup);
}

static void *image_map(const struct device_image *image)
{
	void *bytes = mmap(NULL, image->size, PROT_READ, MAP_SHARED, image->descriptor, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* The hash only selects candidates: equality is decided by the bytes. */
static bool images_are_equal(const struct device_image *left, const struct device_image *right)
{
	if (left->hash != right->hash || left->size != right->size)
		return false;
	void *a = image_map(left), *b = image_map(right);
	bool equal = a && b && memcmp(a, b, left->size) == 0;
	if (a)
		munmap(a, left->size);
	if (b)
		munmap(b, right->size);
	return equal;
}

/* Adds a copy, which is charged, to the cache, which then owns it, or returns the identical image already there. */
static const struct device_image *cache_put(struct device_images *cache, struct device_image *copy)
{
	for (size_t i = 0; i < cache->count; i++) {
		struct device_image *known = &cache->items[i];
		if (images_are_equal(known, copy)) {
			close(copy->descriptor);
			give_back(cache, copy);
			known->last_used = copy->last_used;
			return known;
		}
	}
	cache->items[cache->count] = *copy;
	cache->bytes += copy->size;
	return &cache->items[cache->count++];
}

static bool image_copy(int descriptor, struct device_image *copy, const char **reason)
{
	copy->descriptor = sealed_file_of(descriptor, IMAGE_SIZE_MAX, &copy->size);
	if (copy->descriptor < 0) {
		*reason = copy->descriptor == -ENOEXEC ? "it shrank while it was read" : strerror(-copy->descriptor);
		return false;
	}
	void *bytes = image_map(copy);
	struct elf_reader elf = elf_reader_of_memory(bytes, bytes ? copy->size : 0);
	bool good = bytes && code_range_find(&elf, &copy->range);
	*reason = bytes ? "it is no ELF file, or damaged" : strerror(errno);
	if (good)
		copy->hash = hash_bytes(bytes, copy->size);
	if (bytes)
		munmap(bytes, copy->size);
	if (!good)
		close(copy->descriptor);
	return good;
}

/* Returns NULL if the file may be read, or the reason. */
static const char *file_refuse(const struct stat *status, const struct announced_image *claim)
{
	if (status->st_uid != claim->user)
		return "it belongs to another user";
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return "others can write it";
	if (status->st_size <= 0)
		return "it is empty";
	if ((uint64_t)status->st_size > IMAGE_SIZE_MAX)
		return "it is larger than 256 MiB";
	return NULL;
}

static const char *open_error(int error)
{
	switch (error) {
	case -ELOOP:
		return "it is a symbolic link, or one leads to it";
	case -EISDIR:
		return "it is a folder";
	case -EINVAL:
		return "it is no regular file, or the path is not absolute";
	case -ESRCH:
		return "the process has ended";
	default:
		return broker_reason(error);
	}
}

static bool has_room(const struct device_images *cache, uint64_t size)
{
	return cache->count < cache->capacity && cache->bytes + size <= CACHE_BYTES_MAX;
}

/* Charges an image to its user, if need be after images that are not needed any more are closed. */
static bool room_make(struct device_images *cache, struct device_image *image)
{
	if (has_room(cache, image->size) && charge(cache, image))
		return true;
	cache_expire(cache, image->last_used, KEEP_TIME_LEAST);
	return has_room(cache, image->size) && charge(cache, image);
}

const struct device_image *device_images_read(struct device_images *cache, const struct announced_image *claim,
					      uint64_t now, const char **reason)
{
	struct stat status;
	CLEANUP_CLOSE int folder = image_file_folder_open(cache->broker, claim->process, claim->path);
	const struct target_file_name name = { .pid = claim->process, .path = claim->path };
	CLEANUP_CLOSE int descriptor = broker_open_file(cache->broker, &name, &status);
	if (descriptor < 0) {
		*reason = open_error(descriptor);
		return NULL;
	}
	*reason = file_refuse(&status, claim);
	if (*reason)
		return NULL;
	struct device_image copy = { .size = (uint64_t)status.st_size, .user = claim->user, .last_used = now };
	const struct device_image *image = NULL;
	if (!room_make(cache, &copy))
		*reason = "too many images of its user, or of all users, came at once";
	else if (image_copy(descriptor, &copy, reason))
		image = cache_put(cache, &copy);
	else
		give_back(cache, &copy);
	image_file_cleanup_add(&cache->cleanup, descriptor, STEAL_DESCRIPTOR(folder), claim->path, &status, now);
	return image;
}
