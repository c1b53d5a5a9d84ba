/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source files of device code, for a page or a capture that embeds them. Their paths come from images of other users'
 * programs, or from a capture, and are untrusted:
 *
 * - In folders that the user named, paths cannot leave the folder (openat2(2), RESOLVE_BENEATH).
 * - Elsewhere, and only in a live run, only world-readable files are read: a regular file that others can read (o+r),
 *   all folders of its path can be searched by others (o+x), no part of the path is a symbolic link, and it is on a
 *   local file system, which cannot block.
 */
#pragma once

#include <stddef.h>
#include <iaprof/host.h>

/* Largest size of one file, and of all files together. */
#define SOURCE_FILE_SIZE_MAX ((size_t)1 << 20)
#define SOURCE_FILES_SIZE_MAX ((size_t)16 << 20)

#define SOURCE_FOLDERS_MAX 16

enum source_files_mode {
	SOURCE_FILES_NONE,    /* "no": no file is read, and no text from a capture is shown */
	SOURCE_FILES_CAPTURE, /* a replay without a setting: no file is read */
	SOURCE_FILES_FOLDERS, /* below the named folders */
	SOURCE_FILES_PUBLIC   /* "yes": world-readable files at their recorded paths */
};

/* Initialise with {0}. */
struct source_files {
	enum source_files_mode mode;
	int folders[SOURCE_FOLDERS_MAX];
	size_t folder_count;
	size_t size; /* bytes read so far */
};

/*
 * Opens the folders. setting: "yes", "no", or folders separated by ':'; NULL: "yes" in a live run, and no files in a
 * replay, where "yes" is an error. Returns 0, or a negative errno after host->fail(). From prepare() on.
 */
int source_files_open(struct source_files *files, const struct iaprof_host *host, const char *setting);
void source_files_close(struct source_files *files);

/*
 * Returns the text of a file, which the caller frees: size bytes without NUL, and a terminating NUL. Returns NULL with
 * the reason in *why, in a few words.
 */
char *source_files_read(struct source_files *files, const char *path, size_t *size, const char **why);
