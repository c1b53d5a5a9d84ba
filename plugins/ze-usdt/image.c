/* SPDX-License-Identifier: Apache-2.0 */
/* See image.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "hash/keyed_hash.h"
#include "image.h"
#include "process_file.h"

/* The record that names an image promises 5 seconds. */
#define KEEP_TIME UINT64_C(10000000000) /* ns */
#define KEEP_TIME_LEAST UINT64_C(5000000000)
/* The largest real ones (oneDNN and PyTorch with debug information) have some ten MiB. */
#define IMAGE_SIZE_MAX (UINT64_C(256) << 20)
#define CACHE_BYTES_MAX (UINT64_C(1) << 30)
#define CACHE_COUNT_MAX 1024u
#define COPY_SIZE (256u * 1024)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* include/uapi/linux/memfd.h, since Linux 6.3 */
#endif

int image_cache_init(struct image_cache *cache)
{
	struct rlimit limit;

	/* Half of the descriptors that this process may have is for others. */
	cache->capacity = CACHE_COUNT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < cache->capacity)
		cache->capacity = limit.rlim_cur / 2;
	cache->items = calloc(cache->capacity ? cache->capacity : 1, sizeof *cache->items);
	return cache->items ? 0 : -ENOMEM;
}

static void image_close(struct image_cache *cache, size_t index)
{
	cache->bytes -= cache->items[index].size;
	close(cache->items[index].descriptor);
	cache->items[index] = cache->items[--cache->count];
}

static void cache_expire(struct image_cache *cache, uint64_t now, uint64_t age)
{
	for (size_t i = cache->count; i-- > 0;)
		if (now - cache->items[i].last_used > age)
			image_close(cache, i);
}

void image_cache_expire(struct image_cache *cache, uint64_t now)
{
	cache_expire(cache, now, KEEP_TIME);
	taken_files_expire(&cache->taken, now);
}

void image_cache_free(struct image_cache *cache)
{
	while (cache->count)
		image_close(cache, 0);
	free(cache->items);
	taken_files_free(&cache->taken);
}

static int memory_file_make(void)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int descriptor = memfd_create("iaprof-code", flags | MFD_NOEXEC_SEAL);
	if (descriptor < 0 && errno == EINVAL)
		descriptor = memfd_create("iaprof-code", flags);
	return descriptor;
}

static bool bytes_write(int descriptor, const char *bytes, size_t size)
{
	while (size) {
		ssize_t count = write(descriptor, bytes, size);
		if (count < 0)
			return false;
		bytes += count;
		size -= (size_t)count;
	}
	return true;
}

/* Copies exactly size bytes, and fails when the file has fewer. */
static bool file_copy(int from, int to, uint64_t size, uint64_t *hash, const char **reason)
{
	bool good = false;
	char *buffer = malloc(COPY_SIZE);

	*reason = "out of memory";
	while (buffer && size) {
		size_t wanted = size < COPY_SIZE ? (size_t)size : COPY_SIZE;
		ssize_t count = read(from, buffer, wanted);
		if (count <= 0) {
			*reason = count < 0 ? strerror(errno) : "it shrank while it was read";
			break;
		}
		*hash = hash_pair(*hash, hash_bytes(buffer, (size_t)count));
		if (!bytes_write(to, buffer, (size_t)count)) {
			*reason = strerror(errno);
			break;
		}
		size -= (uint64_t)count;
		good = size == 0;
	}
	free(buffer);
	return good;
}

static void *image_map(const struct image *image)
{
	void *bytes = mmap(NULL, image->size, PROT_READ, MAP_SHARED, image->descriptor, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* A hash only tells which are worth comparing: only the bytes count. */
static bool images_are_equal(const struct image *left, const struct image *right)
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

/* Takes a copy into the cache, which owns it then, or the one that is there already. */
static const struct image *cache_put(struct image_cache *cache, struct image *copy)
{
	for (size_t i = 0; i < cache->count; i++) {
		struct image *known = &cache->items[i];
		if (images_are_equal(known, copy)) {
			close(copy->descriptor);
			known->last_used = copy->last_used;
			return known;
		}
	}
	cache->items[cache->count] = *copy;
	cache->bytes += copy->size;
	return &cache->items[cache->count++];
}

static bool image_copy(int descriptor, struct image *copy, const char **reason)
{
	copy->descriptor = memory_file_make();
	if (copy->descriptor < 0) {
		*reason = strerror(errno);
		return false;
	}
	bool good = file_copy(descriptor, copy->descriptor, copy->size, &copy->hash, reason);
	if (good &&
	    fcntl(copy->descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
		*reason = strerror(errno);
		good = false;
	}
	if (good) {
		void *bytes = image_map(copy);
		struct elf_bytes elf = elf_bytes_of_memory(bytes, copy->size);
		good = bytes && code_range_find(&elf, &copy->range);
		*reason = bytes ? "it is no ELF file, or damaged" : strerror(errno);
		if (bytes)
			munmap(bytes, copy->size);
	}
	if (!good)
		close(copy->descriptor);
	return good;
}

/* NULL when the file may be read. */
static const char *file_refuse(const struct stat *status, const struct image_claim *claim)
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
		return strerror(-error);
	}
}

const struct image *image_read(struct image_cache *cache, const struct image_claim *claim, uint64_t now,
			       const char **reason)
{
	struct stat status;
	int descriptor = process_file_open(claim->process, claim->path, &status);
	if (descriptor < 0) {
		*reason = open_error(descriptor);
		return NULL;
	}
	*reason = file_refuse(&status, claim);
	if (*reason) {
		close(descriptor);
		return NULL;
	}
	if (cache->count == cache->capacity || cache->bytes + (uint64_t)status.st_size > CACHE_BYTES_MAX)
		cache_expire(cache, now, KEEP_TIME_LEAST);
	struct image copy = { .size = (uint64_t)status.st_size, .last_used = now };
	const struct image *image = NULL;
	if (cache->count == cache->capacity || cache->bytes + copy.size > CACHE_BYTES_MAX)
		*reason = "too many images came at once";
	else if (image_copy(descriptor, &copy, reason))
		image = cache_put(cache, &copy);
	taken_files_add(&cache->taken, descriptor, claim->process, claim->path, &status, now);
	close(descriptor);
	return image;
}
