/* SPDX-License-Identifier: Apache-2.0 */
/* See kept_files.h. */
#include "process/kept_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void kept_files_init(struct kept_files *files)
{
	struct rlimit limit;

	memset(files, 0, sizeof *files);
	pthread_mutex_init(&files->lock, NULL);
	files->limit = KEPT_FILES_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < files->limit)
		files->limit = limit.rlim_cur / 8;
	files->items = calloc(files->limit, sizeof *files->items);
	if (!files->items)
		files->limit = 0;
}

static void file_drop(struct kept_file *file)
{
	close(file->descriptor);
	free(file->path);
	*file = (struct kept_file){ .descriptor = -1 };
}

void kept_files_free(struct kept_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		file_drop(&files->items[i]);
	free(files->items);
	pthread_mutex_destroy(&files->lock);
}

static bool is_same(const struct stat *left, const struct stat *right)
{
	return left->st_dev == right->st_dev && left->st_ino == right->st_ino && left->st_size == right->st_size &&
	       left->st_mtim.tv_sec == right->st_mtim.tv_sec && left->st_mtim.tv_nsec == right->st_mtim.tv_nsec;
}

/* With the lock. Returns the latest file of this key, or NULL. */
static struct kept_file *file_find(struct kept_files *files, const struct kept_file_key *key)
{
	for (size_t i = 0; i < files->count; i++) {
		struct kept_file *file = &files->items[(files->next + files->count - 1 - i) % files->count];
		if (file->inode == key->inode && strcmp(file->path, key->path) == 0)
			return file;
	}
	return NULL;
}

void kept_files_add(struct kept_files *files, const struct kept_file_key *key, int descriptor)
{
	struct kept_file file = { .inode = key->inode };

	if (!files->limit || fstat(descriptor, &file.status) != 0)
		return;
	pthread_mutex_lock(&files->lock);
	const struct kept_file *known = file_find(files, key);
	if (!known || !is_same(&known->status, &file.status)) {
		file.path = strdup(key->path);
		file.descriptor = file.path ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1;
		if (file.descriptor < 0) {
			free(file.path);
		} else if (files->count < files->limit) {
			files->items[files->count++] = file;
		} else {
			file_drop(&files->items[files->next]);
			files->items[files->next] = file;
			files->next = (files->next + 1) % files->limit;
		}
	}
	pthread_mutex_unlock(&files->lock);
}

int kept_files_open(struct kept_files *files, const struct kept_file_key *key, struct stat *status)
{
	int descriptor = -ENOENT;

	if (!files)
		return -ENOENT;
	pthread_mutex_lock(&files->lock);
	const struct kept_file *file = file_find(files, key);
	if (file && fstat(file->descriptor, status) == 0 && is_same(&file->status, status)) {
		descriptor = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
		if (descriptor < 0)
			descriptor = -errno;
	}
	pthread_mutex_unlock(&files->lock);
	return descriptor;
}
