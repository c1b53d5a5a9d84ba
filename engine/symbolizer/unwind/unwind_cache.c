/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_cache.h. */
#include "symbolizer/unwind/unwind_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>
#include <iaprof/host.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/regular_file.h"

#define FOLDER "/var/cache/iaprof"
#define FORMAT "unwind3"
#define PREFIX "unwind-"
/* Entries are written under this prefix, and renamed. */
#define TEMPORARY_PREFIX ".unwind-"
/* Age of a temporary file that a killed run left behind, in s. */
#define TEMPORARY_AGE 3600
/* A file that changed so recently may change again without a new ctime, in ns. */
#define CHANGED_LATELY (2 * (int64_t)NANOSECONDS_PER_SECOND)
/* Number of bytes written after which the folder is trimmed. */
#define TRIM_AFTER ((uint64_t)64 << 20)
#define ENTRIES_MAX 65536u

/* The beginning of an entry, followed by the segments, the index, the rows and the rules. */
struct entry_head {
	struct unwind_cache_origin origin;
	struct file_identity file;
	uint64_t first_page;
	uint32_t segment_count, index_count, row_count, rule_count;
	uint32_t skipped;
	uint32_t checksum; /* CRC-32 of what follows, and of this struct with checksum 0 */
	struct iaprof_python python;
	struct iaprof_thread_context thread_context;
};

#define PARTS 4

static void list_parts(const struct remote_unwind *unwind, struct iovec parts[PARTS])
{
	const struct unwind_table *table = &unwind->table;
	parts[0] = (struct iovec){ unwind->segments.items, unwind->segments.count * sizeof *unwind->segments.items };
	parts[1] = (struct iovec){ table->index.items, table->index.count * sizeof *table->index.items };
	parts[2] = (struct iovec){ table->rows.items, table->rows.count * sizeof *table->rows.items };
	parts[3] = (struct iovec){ table->rules.items, table->rules.count * sizeof *table->rules.items };
}

static uint32_t checksum_of(const struct entry_head *head, const struct iovec parts[PARTS])
{
	struct entry_head copy = *head;
	copy.checksum = 0;
	unsigned long sum = crc32(0, (const void *)&copy, sizeof copy);
	for (size_t i = 0; i < PARTS; i++)
		sum = crc32_z(sum, parts[i].iov_base, parts[i].iov_len);
	return (uint32_t)sum;
}

/* Opens a folder that only root can write. */
static int open_safe(int parent, const char *path, mode_t forbidden)
{
	struct stat status;
	int folder = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	if (!fstat(folder, &status) && status.st_uid == 0 && !(status.st_mode & forbidden))
		return folder;
	close(folder);
	return -EPERM;
}

static int open_folder(const char *path)
{
	char parent_path[PATH_MAX];
	const char *slash = strrchr(path, '/');
	if (path[0] != '/' || !slash[1])
		return -EINVAL;
	snprintf(parent_path, sizeof parent_path, "%.*s/", (int)(slash - path), path);
	CLEANUP_CLOSE int parent = open_safe(AT_FDCWD, parent_path, 0022);
	if (parent < 0)
		return parent;
	if (mkdirat(parent, slash + 1, 0700) && errno != EEXIST)
		return -errno;
	return open_safe(parent, slash + 1, 0077);
}

static bool find_origin(struct unwind_cache_origin *origin)
{
	struct stat status;
	*origin = (struct unwind_cache_origin){ .format = FORMAT };
	boot_id_read(origin->boot_id);
	if (!origin->boot_id[0] || stat("/proc/self/exe", &status))
		return false;
	origin->program_size = (uint64_t)status.st_size;
	origin->program_modified = timespec_nanoseconds(&status.st_mtim);
	return true;
}

void unwind_cache_open(struct unwind_cache *cache)
{
	const char *path = secure_getenv("IAPROF_CACHE");
	*cache = (struct unwind_cache){ .folder = -1 };
	if (geteuid() || (path && !*path) || !find_origin(&cache->origin))
		return;
	int folder = open_folder(path ? path : FOLDER);
	if (folder < 0)
		log_message(IAPROF_LOG_INFO, "no cache of unwind tables in %s: %s", path ? path : FOLDER,
			    folder == -EPERM ? "other users than root may write it" : strerror(-folder));
	else
		cache->folder = folder;
}

void unwind_cache_close(struct unwind_cache *cache)
{
	if (cache->folder < 0)
		return;
	if (cache->written)
		unwind_cache_trim(cache, UNWIND_CACHE_MAX);
	close(STEAL_DESCRIPTOR(cache->folder));
}

#define NAME_SIZE 64

static void entry_name(const struct file_identity *file, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, PREFIX "%" PRIx64 "-%" PRIx64, file->device, file->inode);
}

bool unwind_cache_has(const struct unwind_cache *cache, const struct file_identity *file)
{
	char name[NAME_SIZE];
	struct stat status;
	entry_name(file, name);
	return cache->folder >= 0 && !fstatat(cache->folder, name, &status, AT_SYMLINK_NOFOLLOW);
}

static bool allocate(struct remote_unwind *unwind, const struct entry_head *head)
{
	struct unwind_table *table = &unwind->table;
	return array_extend(&unwind->segments, head->segment_count) && array_extend(&table->index, head->index_count) &&
	       array_extend(&table->rows, head->row_count) && array_extend(&table->rules, head->rule_count);
}

static bool is_sane(const struct entry_head *head, uint64_t size)
{
	return head->segment_count <= UNWIND_SEGMENTS_MAX && head->index_count <= UNWIND_PAGES_MAX + 1 &&
	       head->row_count <= UNWIND_ROWS_MAX && head->rule_count <= UNWIND_RULES_MAX &&
	       size == sizeof *head + (uint64_t)head->segment_count * sizeof(struct elf_segment) +
			       (uint64_t)head->index_count * sizeof(uint32_t) +
			       (uint64_t)head->row_count * sizeof(struct iaprof_unwind_row) +
			       (uint64_t)head->rule_count * sizeof(struct iaprof_unwind_rule);
}

static bool read_parts(int descriptor, const struct iovec parts[PARTS])
{
	uint64_t offset = sizeof(struct entry_head);
	for (size_t i = 0; i < PARTS; offset += parts[i++].iov_len)
		if (file_read_at(descriptor, parts[i].iov_base, parts[i].iov_len, offset) != (ssize_t)parts[i].iov_len)
			return false;
	return true;
}

static bool load(const struct unwind_cache *cache, int descriptor, const struct file_identity *file,
		 struct remote_unwind *unwind)
{
	struct stat status;
	struct entry_head head;
	struct iovec parts[PARTS];
	if (fstat(descriptor, &status) || status.st_uid != 0 || status.st_mode & 0077 || status.st_size < 0 ||
	    file_read_at(descriptor, &head, sizeof head, 0) != sizeof head ||
	    memcmp(&head.origin, &cache->origin, sizeof head.origin) != 0 ||
	    memcmp(&head.file, file, sizeof head.file) != 0 || !is_sane(&head, (uint64_t)status.st_size) ||
	    !allocate(unwind, &head))
		return false;
	list_parts(unwind, parts);
	unwind->table.first_page = head.first_page;
	unwind->table.skipped = head.skipped;
	unwind->table.python = head.python;
	unwind->table.thread_context = head.thread_context;
	bool is_empty = !head.index_count && !head.row_count && !head.rule_count;
	return read_parts(descriptor, parts) && checksum_of(&head, parts) == head.checksum &&
	       (is_empty || unwind_table_is_valid(&unwind->table));
}

bool unwind_cache_load(struct unwind_cache *cache, const struct file_identity *file, struct remote_unwind *unwind)
{
	char name[NAME_SIZE];
	*unwind = (struct remote_unwind){ 0 };
	if (cache->folder < 0)
		return false;
	entry_name(file, name);
	CLEANUP_CLOSE int descriptor = regular_file_open(cache->folder, name, O_NOFOLLOW);
	if (descriptor < 0)
		return false;
	if (!load(cache, descriptor, file, unwind)) {
		remote_unwind_free(unwind);
		return false;
	}
	futimens(descriptor, NULL); /* the time of the last use, for unwind_cache_trim() */
	cache->loaded++;
	return true;
}

static bool write_parts(int descriptor, const struct iovec *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t done = 0; done < parts[i].iov_len;) {
			ssize_t written =
				write(descriptor, (const char *)parts[i].iov_base + done, parts[i].iov_len - done);
			if (written <= 0)
				return false;
			done += (size_t)written;
		}
	return true;
}

void unwind_cache_store(struct unwind_cache *cache, const struct file_identity *file,
			const struct remote_unwind *unwind)
{
	char name[NAME_SIZE], temporary[NAME_SIZE];
	struct iovec parts[1 + PARTS];
	const struct unwind_table *table = &unwind->table;
	struct entry_head head;
	if (cache->folder < 0 || file->changed + CHANGED_LATELY > (int64_t)clock_read(CLOCK_REALTIME))
		return;
	memset(&head, 0, sizeof head);
	head.origin = cache->origin;
	head.file = *file;
	head.first_page = table->first_page;
	head.segment_count = (uint32_t)unwind->segments.count;
	head.index_count = (uint32_t)table->index.count;
	head.row_count = (uint32_t)table->rows.count;
	head.rule_count = (uint32_t)table->rules.count;
	head.skipped = table->skipped;
	head.python = table->python;
	head.thread_context = table->thread_context;
	list_parts(unwind, parts + 1);
	head.checksum = checksum_of(&head, parts + 1);
	parts[0] = (struct iovec){ &head, sizeof head };
	entry_name(file, name);
	snprintf(temporary, sizeof temporary, TEMPORARY_PREFIX "%d", getpid());
	unlinkat(cache->folder, temporary, 0);
	CLEANUP_CLOSE int descriptor =
		openat(cache->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (descriptor < 0 || !write_parts(descriptor, parts, 1 + PARTS) ||
	    renameat(cache->folder, temporary, cache->folder, name)) {
		unlinkat(cache->folder, temporary, 0);
		return;
	}
	for (size_t i = 0; i <= PARTS; i++)
		cache->written += parts[i].iov_len;
	cache->stored++;
	if (cache->written > TRIM_AFTER)
		unwind_cache_trim(cache, UNWIND_CACHE_MAX);
}

/* Trimming. */

struct entry {
	char name[NAME_SIZE];
	int64_t used;
	uint64_t size;
};

static int compare_use(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	return a->used != b->used ? (a->used > b->used) - (a->used < b->used) : strcmp(a->name, b->name);
}

static bool read_entry(const struct unwind_cache *cache, const char *name, struct entry *entry)
{
	struct stat status;
	bool is_temporary = strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0;
	if ((!is_temporary && strncmp(name, PREFIX, strlen(PREFIX)) != 0) || strlen(name) >= NAME_SIZE ||
	    fstatat(cache->folder, name, &status, AT_SYMLINK_NOFOLLOW))
		return false;
	*entry = (struct entry){ .used = timespec_nanoseconds(&status.st_mtim),
				 .size = (uint64_t)status.st_blocks * 512 };
	snprintf(entry->name, sizeof entry->name, "%s", name);
	if (is_temporary && status.st_mtim.tv_sec + TEMPORARY_AGE < time(NULL))
		unlinkat(cache->folder, name, 0);
	return !is_temporary;
}

void unwind_cache_trim(struct unwind_cache *cache, uint64_t size_max)
{
	ARRAY(struct entry) entries = { 0 };
	struct entry entry;
	uint64_t size = 0;
	cache->written = 0;
	int folder = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *listed = folder < 0 ? NULL : fdopendir(folder);
	if (!listed && folder >= 0)
		close(folder);
	for (struct dirent *found; listed && entries.count < ENTRIES_MAX && (found = readdir(listed));)
		if (read_entry(cache, found->d_name, &entry) && array_push(&entries, entry))
			size += entry.size;
	if (entries.count)
		qsort(entries.items, entries.count, sizeof *entries.items, compare_use);
	for (size_t i = 0; i < entries.count && size > size_max; i++)
		if (!unlinkat(cache->folder, entries.items[i].name, 0))
			size -= entries.items[i].size;
	array_free(&entries);
}
