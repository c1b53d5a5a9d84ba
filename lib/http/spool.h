/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder in which requests wait that could not be sent: beyond the memory for them, and from one run to the next.
 * Each is a file that appears when it is complete. The folder is bounded: the oldest request makes room for the latest.
 * Files that the spool did not write are left alone. One process at a time has the files of a kind; one thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>

#include "text/text.h"

/* Limit on the number of files. */
#define SPOOL_FILES_MAX 8192u

struct spool_options {
	const struct iaprof_host *host;
	const char *folder; /* is created; its parent exists */
	const char *name;   /* of the kind of request, such as "otlp-profiles": several kinds may share a folder */
	uint64_t limit;     /* bytes of this kind's files */
	bool compressed;    /* requests of the other form are refused when they are taken */
};

struct spool;

/* Opens the folder. Returns 0, or a negative errno after host->fail(). Borrows the options. */
int spool_open(const struct spool_options *options, struct spool **spool);
/*
 * Locks the folder, and finds what earlier runs left. Returns 0, or a negative errno after host->fail(): -EWOULDBLOCK
 * if another spool has the files.
 */
int spool_begin(struct spool *spool);
/*
 * For check() of a sink: reports whether spool_open() would succeed, without creating anything. folder: NULL or empty:
 * no spool is used, nothing is reported.
 */
void spool_check(const struct iaprof_host *host, const char *folder, const char *name);
/*
 * Stores a request with count items. Returns 0 or a negative errno: -EFBIG if it is larger than the limit. *lost: is
 * increased by the items of requests that made room.
 */
int spool_put(struct spool *spool, const struct text *body, uint32_t count, uint64_t *lost);
/*
 * Reads the oldest request, which stays in the folder until spool_remove(). Returns false if there is none, or one that
 * was taken is not removed yet. body: empty. *lost: is increased by the items of files that could not be read.
 */
bool spool_take(struct spool *spool, struct text *body, uint32_t *count, uint64_t *lost);
/* Removes the request that was taken. */
void spool_remove(struct spool *spool);
/* Returns the number of items in the folder, with those of the request that was taken. */
uint64_t spool_items(const struct spool *spool); /* accepts NULL */
/* Returns the bytes of these. */
uint64_t spool_size(const struct spool *spool);
/* Returns whether the folder was removed, and the requests with it. */
bool spool_is_removed(const struct spool *spool);
void spool_close(struct spool *spool); /* accepts NULL */
