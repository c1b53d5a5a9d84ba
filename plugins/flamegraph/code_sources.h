/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source files that device code was made of, for a page that shows them. Paths come from images that other users'
 * programs made, or from a capture: below folders that the user named nothing leads out of them, and elsewhere a file
 * is read only when who runs iaprof has no more rights than that user.
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_CODE_SOURCES_H
#define IAPROF_PLUGINS_FLAMEGRAPH_CODE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <iaprof/host.h>

/* Of one file, and of all of a page. */
#define SOURCE_SIZE_MAX ((size_t)1 << 20)
#define SOURCES_SIZE_MAX ((size_t)16 << 20)

#define SOURCE_FOLDERS_MAX 16

/* Initialise with {0}. */
struct code_sources {
	int folders[SOURCE_FOLDERS_MAX];
	size_t folder_count;
	bool is_off;      /* nothing is to be read */
	bool takes_paths; /* files are looked for where their paths say, too */
	size_t size;      /* read so far */
};

/* folders: with ':' between them, "no" for nothing; may be NULL. 0, or a negative errno after host->fail(). */
int code_sources_open(struct code_sources *sources, const struct iaprof_host *host, const char *folders);
void code_sources_close(struct code_sources *sources);

/*
 * The text of a file, which the caller frees: size bytes and a NUL, and no NUL in it. NULL: *why says in a few words
 * why it is not there.
 */
char *code_sources_read(struct code_sources *sources, const char *path, size_t *size, const char **why);

#endif
