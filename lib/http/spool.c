/* SPDX-License-Identifier: Apache-2.0 */
/* See spool.h. */
#include "http/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/private_folder.h"
#include "base/regular_file.h"
#include "http/sender.h"

#define MAGIC "iaprofrequest1\n"
#define SUFFIX ".request"
#define PARTIAL ".part"
#define SPOOL_NAME_SIZE 96u

/* The beginning of a file, in the byte order of the machine: nobody else reads it. */
struct spool_header {
	char magic[16];
	uint64_t size; /* of the request behind it */
	uint32_t count;
	uint32_t compressed;
};

struct spool_file {
	uint64_t number;
	uint64_t size;
	uint32_t count;
};

struct spool {
	struct spool_options options;
	int folder, lock;
	ARRAY(struct spool_file) files; /* the oldest first */
	struct spool_file taken;        /* was read and not yet removed; count 0: none */
	uint64_t size;                  /* of all */
	uint64_t next;                  /* number of the next file */
};

static void name_write(const struct spool *spool, uint64_t number, const char *suffix,
		       char name[static SPOOL_NAME_SIZE])
{
	snprintf(name, SPOOL_NAME_SIZE, "%s-%020" PRIu64 "%s", spool->options.name, number, suffix);
}

static void lock_name_write(const char *kind, char name[static SPOOL_NAME_SIZE])
{
	snprintf(name, SPOOL_NAME_SIZE, "%s.lock", kind);
}

/* Parses the name of a file of this kind. */
static bool name_parse(const struct spool *spool, const char *name, const char *suffix, uint64_t *number)
{
	char again[SPOOL_NAME_SIZE];
	size_t length = strlen(spool->options.name);
	if (strncmp(name, spool->options.name, length) != 0 || name[length] != '-')
		return false;
	*number = strtoull(name + length + 1, NULL, 10);
	name_write(spool, *number, suffix, again);
	return strcmp(name, again) == 0;
}

static bool is_partial(const void *context, const char *name)
{
	uint64_t number;
	return name_parse(context, name, PARTIAL, &number);
}

/* Opens a file that this user wrote: a folder may be shared. Returns -1 if it is none. */
static int file_open(const struct spool *spool, const char *name, struct spool_header *header)
{
	struct stat status;
	int file = openat(spool->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return -1;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    read(file, header, sizeof *header) == (ssize_t)sizeof *header &&
	    memcmp(header->magic, MAGIC, sizeof header->magic) == 0 && header->size <= SENDER_WAITING_MAX &&
	    (uint64_t)status.st_size == header->size + sizeof *header)
		return file;
	close(file);
	return -1;
}

static int compare_files(const void *left, const void *right)
{
	const struct spool_file *one = left, *other = right;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* Finds what earlier runs left. Returns false when out of memory. */
static bool scan(struct spool *spool)
{
	int copy = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	bool good = true;
	if (!folder && copy >= 0)
		close(copy);
	for (const struct dirent *entry; folder && good && (entry = readdir(folder));) {
		struct spool_header header;
		struct spool_file found = { 0 };
		if (!name_parse(spool, entry->d_name, SUFFIX, &found.number) || spool->files.count >= SPOOL_FILES_MAX)
			continue;
		int file = file_open(spool, entry->d_name, &header);
		if (file < 0)
			continue;
		close(file);
		found.size = header.size + sizeof header;
		found.count = header.count;
		good = array_push(&spool->files, found);
		spool->size += found.size;
		if (found.number >= spool->next)
			spool->next = found.number + 1;
	}
	if (folder)
		closedir(folder);
	if (spool->files.count)
		qsort(spool->files.items, spool->files.count, sizeof *spool->files.items, compare_files);
	return good;
}

int spool_open(const struct spool_options *options, struct spool **opened)
{
	struct spool *spool = calloc(1, sizeof *spool);
	const char *why = NULL;
	if (!spool)
		return options->host->fail(options->host, ENOMEM, "out of memory");
	spool->options = *options;
	spool->lock = -1;
	/* A later run begins with a larger number: the clock is only a good guess. */
	spool->next = clock_read(CLOCK_REALTIME);
	/* Who can write to the folder could replace what is sent. */
	int result = spool->folder = private_folder_open(options->folder, true, &why);
	if (result >= 0) {
		*opened = spool;
		return 0;
	}
	spool_close(spool);
	return options->host->fail(options->host, -result, "spool %s: %s", options->folder,
				   why ? why : strerror(-result));
}

int spool_begin(struct spool *spool)
{
	const struct spool_options *options = &spool->options;
	char lock[SPOOL_NAME_SIZE];
	lock_name_write(options->name, lock);
	spool->lock = file_lock_take(spool->folder, lock);
	if (spool->lock < 0)
		return options->host->fail(options->host, -spool->lock, "spool %s: %s", options->folder,
					   spool->lock == -EWOULDBLOCK ? "another sink uses it"
								       : strerror(-spool->lock));
	private_folder_clean(spool->folder, is_partial, spool);
	return scan(spool) ? 0 : options->host->fail(options->host, ENOMEM, "out of memory");
}

void spool_check(const struct iaprof_host *host, const char *path, const char *name)
{
	char lock[SPOOL_NAME_SIZE];
	lock_name_write(name, lock);
	if (path && *path)
		private_folder_report(host, "spool", path, false, lock);
}

static void file_remove(struct spool *spool, const struct spool_file *file)
{
	char name[SPOOL_NAME_SIZE];
	name_write(spool, file->number, SUFFIX, name);
	unlinkat(spool->folder, name, 0);
	spool->size -= file->size;
}

static struct spool_file first_take(struct spool *spool)
{
	struct spool_file first = spool->files.items[0];
	spool->files.count--;
	memmove(spool->files.items, spool->files.items + 1, spool->files.count * sizeof *spool->files.items);
	return first;
}

/* Writes a request under a temporary name, and renames it. Returns 0 or a negative errno. */
static int file_add(struct spool *spool, const struct spool_file *added, const struct text *body)
{
	struct spool_header header = {
		.magic = MAGIC, .size = body->size, .count = added->count, .compressed = spool->options.compressed
	};
	char partial[SPOOL_NAME_SIZE], name[SPOOL_NAME_SIZE];
	name_write(spool, added->number, PARTIAL, partial);
	name_write(spool, added->number, SUFFIX, name);
	int file = openat(spool->folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	int result = file_write(file, &header, sizeof header);
	if (!result)
		result = file_write(file, body->data, body->size);
	if (close(file) && !result)
		result = -errno;
	if (!result && renameat(spool->folder, partial, spool->folder, name))
		result = -errno;
	if (result)
		unlinkat(spool->folder, partial, 0);
	return result;
}

int spool_put(struct spool *spool, const struct text *body, uint32_t count, uint64_t *lost)
{
	struct spool_file added = { .number = spool->next,
				    .size = sizeof(struct spool_header) + body->size,
				    .count = count };
	if (added.size > spool->options.limit)
		return -EFBIG;
	while (spool->files.count &&
	       (spool->size + added.size > spool->options.limit || spool->files.count >= SPOOL_FILES_MAX)) {
		struct spool_file first = first_take(spool);
		*lost += first.count;
		file_remove(spool, &first);
	}
	if (!array_reserve(&spool->files, spool->files.count + 1))
		return -ENOMEM;
	int result = file_add(spool, &added, body);
	if (result)
		return result;
	spool->files.items[spool->files.count++] = added;
	spool->next++;
	spool->size += added.size;
	return 0;
}

/* Reads a request of a file. Returns false if it is not what was written, or when out of memory. */
static bool file_read(const struct spool *spool, const struct spool_file *wanted, struct text *body)
{
	struct spool_header header;
	char name[SPOOL_NAME_SIZE];
	name_write(spool, wanted->number, SUFFIX, name);
	int file = file_open(spool, name, &header);
	bool good = file >= 0 && header.compressed == spool->options.compressed &&
		    text_reserve(body, (size_t)header.size) &&
		    file_read_at(file, body->data, (size_t)header.size, sizeof header) == (ssize_t)header.size;
	if (file >= 0)
		close(file);
	if (good)
		body->size = (size_t)header.size;
	return good;
}

bool spool_take(struct spool *spool, struct text *body, uint32_t *count, uint64_t *lost)
{
	while (!spool->taken.count && spool->files.count) {
		struct spool_file first = first_take(spool);
		if (first.count && file_read(spool, &first, body)) {
			*count = first.count;
			spool->taken = first;
			return true;
		}
		*lost += first.count;
		file_remove(spool, &first);
	}
	return false;
}

void spool_remove(struct spool *spool)
{
	if (spool->taken.count)
		file_remove(spool, &spool->taken);
	spool->taken = (struct spool_file){ 0 };
}

uint64_t spool_items(const struct spool *spool)
{
	uint64_t sum = spool ? spool->taken.count : 0;
	for (size_t i = 0; spool && i < spool->files.count; i++)
		sum += spool->files.items[i].count;
	return sum;
}

uint64_t spool_size(const struct spool *spool)
{
	return spool->size;
}

bool spool_is_removed(const struct spool *spool)
{
	struct stat status;
	return !fstat(spool->folder, &status) && !status.st_nlink;
}

void spool_close(struct spool *spool)
{
	if (!spool)
		return;
	char name[SPOOL_NAME_SIZE];
	lock_name_write(spool->options.name, name);
	file_lock_release(spool->folder, name, spool->lock);
	if (spool->folder >= 0)
		close(spool->folder);
	array_free(&spool->files);
	free(spool);
}
