/* SPDX-License-Identifier: Apache-2.0 */
/* See image_files.h. */
#include "symbolizer/image_files.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"

/* SHA-512; the usual SHA-1 has 20 bytes. */
#define BUILD_ID_SIZE_MAX 64

/* A path to try, and its root. */
struct candidate {
	char *path; /* NULL: no more candidates, or out of memory */
	int root;
};

static struct candidate by_build_id(const struct image_files *files, const uint8_t *build_id, size_t size,
				    uint32_t place)
{
	struct candidate candidate = { .root = place ? files->root : -1 };
	char text[2 * BUILD_ID_SIZE_MAX + 1];
	if (place > 1 || (place && files->root < 0) || size < 2 || size > BUILD_ID_SIZE_MAX)
		return candidate;
	sodium_bin2hex(text, sizeof text, build_id, size);
	if (asprintf(&candidate.path, "%s/.build-id/%.2s/%s.debug", files->debug_path, text, text + 2) < 0)
		candidate.path = NULL;
	return candidate;
}

/* In the order of GDB: beside the image, in .debug there, and below the folder of debug files. */
static struct candidate by_link(const struct image_files *files, const char *name, size_t length, uint32_t place)
{
	struct candidate candidate = { .root = place == 2 ? -1 : files->root };
	const char *slash = files->path ? strrchr(files->path, '/') : NULL;
	bool is_name = length && length <= DEBUG_FILE_KEY_MAX && !memchr(name, '/', length) &&
		       !memchr(name, '\0', length) && strncmp(name, "..", length) && strncmp(name, ".", length);
	if (!is_name || !slash || place > 3 || (place == 3 && files->root < 0))
		return candidate;
	if (asprintf(&candidate.path, "%s%.*s%s/%.*s", place >= 2 ? files->debug_path : "", (int)(slash - files->path),
		     files->path, place == 1 ? "/.debug" : "", (int)length, name) < 0)
		candidate.path = NULL;
	return candidate;
}

/* The file of dwz: as the image or its debug file names it. */
static struct candidate by_shared_path(const struct image_files *files, const char *name, size_t length, uint32_t place)
{
	bool has_opened = files->opened[0], is_absolute = length && name[0] == '/';
	int root = has_opened && !is_absolute ? files->opened_root : files->root;
	struct candidate candidate = { .root = place ? -1 : root };
	const char *beside = is_absolute ? NULL : has_opened ? files->opened : files->path;
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	bool is_last = place > 1 || (place && (!is_absolute || root < 0));
	if (is_last || !length || length > DEBUG_FILE_KEY_MAX || memchr(name, '\0', length) || (!is_absolute && !slash))
		return candidate;
	if (asprintf(&candidate.path, "%.*s%s%.*s", slash ? (int)(slash - beside) : 0, slash ? beside : "",
		     slash ? "/" : "", (int)length, name) < 0)
		candidate.path = NULL;
	return candidate;
}

static struct candidate find_candidate(const struct image_files *files, enum debug_file_kind kind, const void *key,
				       size_t key_size, uint32_t place)
{
	switch (kind) {
	case DEBUG_FILE_BUILD_ID:
		return by_build_id(files, key, key_size, place);
	case DEBUG_FILE_LINK:
		return by_link(files, key, key_size, place);
	case DEBUG_FILE_SHARED:
		return by_shared_path(files, key, key_size, place);
	}
	return (struct candidate){ 0 };
}

static bool is_of_owner(const struct image_files *files, const struct file_identity *file)
{
	if (files->image->owner == 0)
		return file->owner == 0 && !(file->mode & 0022);
	return file->owner == 0 || file->owner == files->image->owner;
}

/* Opens the debug file of the server, which comes after the local ones. */
static int open_fetched(struct image_files *files, const void *build_id, size_t size)
{
	int descriptor = debuginfod_open(files->debuginfod, build_id, size, files->image, files->name);
	files->awaits |= descriptor == -EAGAIN;
	return descriptor == -EAGAIN ? -ENOENT : descriptor;
}

int image_files_open(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place)
{
	struct image_files *files = context;
	if (files->debuginfod && kind == DEBUG_FILE_BUILD_ID && place == (files->root < 0 ? 1 : 2))
		return open_fetched(files, key, key_size);
	struct candidate candidate = find_candidate(files, kind, key, key_size, place);
	CLEANUP_FREE char *path = candidate.path;
	if (!path)
		return -ENXIO;
	struct file_identity identity;
	/* The owner of the image chose the name of its debug file, so it is opened with that owner's permissions. */
	struct file_request request = { .path = path,
					.root = candidate.root,
					.user = files->image->owner,
					.group = files->image->owner ? (gid_t)65534 : 0,
					.follow_links = true };
	struct deadline deadline = budget_deadline(files->budget, files->image, BUDGET_FULL);
	int descriptor = broker_open(files->broker, &request, &deadline, &identity);
	if (descriptor < 0) {
		if (descriptor != -ENOENT && descriptor != -ENOTDIR)
			budget_refuse(files->budget, files->image, path, broker_reason(descriptor), 0);
		return descriptor == -ENXIO ? -EIO : descriptor;
	}
	if (is_of_owner(files, &identity)) {
		snprintf(files->opened, sizeof files->opened, "%s", path);
		files->opened_root = candidate.root;
		return descriptor;
	}
	close(descriptor);
	budget_refuse(files->budget, files->image, path, "debug file and program have different owners", 0);
	return -EACCES;
}
