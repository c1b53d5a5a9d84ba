/* SPDX-License-Identifier: Apache-2.0 */
/* See debuginfod.h. */
#include "symbolizer/debuginfod.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/regular_file.h"
#include "child/child.h"
#include "child/privileges.h"

/* Limits of one file, of all files together, and of files for the images of one untrusted owner. */
#define FILE_SIZE_MAX 536870912
#define FILES_SIZE_MAX ((uint64_t)2 << 30)
#define FILES_MAX 256
#define FILES_OF_OWNER_MAX 16
#define FETCHES_MAX 4
#define FETCH_SECONDS "60"

#define TEXT_OF(number) TEXT_OF_ARGUMENT(number)
#define TEXT_OF_ARGUMENT(number) #number
/* Maximum wait for a file that the profile of an interval needs, while the run is not ending. */
#define WAIT_MAX (2 * NANOSECONDS_PER_SECOND)
/* SHA-512; the usual SHA-1 has 20 bytes. */
#define BUILD_ID_SIZE_MAX 64

/* Exit statuses of curl(1). */
enum { CURL_HTTP_ERROR = 22, CURL_WRITE_ERROR = 23, CURL_TIMEOUT = 28, CURL_FILE_TOO_LARGE = 63 };

struct fetch {
	char id[2 * BUILD_ID_SIZE_MAX + 1];
	struct file_identity image;
	const char *path;
	struct child child;
	int file; /* -1: none */
};

struct debuginfod {
	const char *url;
	struct budget *budget;
	ARRAY(struct fetch) fetches;
	uint64_t size; /* of all files */
};

struct debuginfod *debuginfod_new(const char *url, struct budget *budget)
{
	struct debuginfod *debuginfod = calloc(1, sizeof *debuginfod);
	if (debuginfod)
		*debuginfod = (struct debuginfod){ .url = url, .budget = budget };
	return debuginfod;
}

static void refuse(struct debuginfod *debuginfod, struct fetch *fetch, const char *reason)
{
	budget_refuse(debuginfod->budget, &fetch->image, fetch->path, reason, 0);
	if (fetch->file >= 0)
		close(STEAL_DESCRIPTOR(fetch->file));
}

/* Evaluates the result of a fetch that has ended. */
static void conclude(struct debuginfod *debuginfod, struct fetch *fetch, int status)
{
	struct stat file;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	bool is_large = code == CURL_FILE_TOO_LARGE || code == CURL_WRITE_ERROR ||
			(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
	if (code == CURL_HTTP_ERROR) /* the server has no such file */
		close(STEAL_DESCRIPTOR(fetch->file));
	else if (is_large)
		refuse(debuginfod, fetch, "debuginfod: the debug file is larger than 512 MiB");
	else if (code == CURL_TIMEOUT)
		refuse(debuginfod, fetch, "debuginfod: the server took longer than " FETCH_SECONDS " s");
	else if (code == CHILD_NOT_EXECUTED)
		refuse(debuginfod, fetch, "debuginfod: curl cannot be executed (install curl)");
	else if (code || fstat(fetch->file, &file))
		refuse(debuginfod, fetch, "debuginfod: the server cannot be reached");
	else if (debuginfod->size + (uint64_t)file.st_size > FILES_SIZE_MAX)
		refuse(debuginfod, fetch, "debuginfod: the debug files of the run are larger than 2 GiB");
	else
		debuginfod->size += (uint64_t)file.st_size;
}

/* Returns whether a fetch ends within patience ns. */
static bool collect(struct debuginfod *debuginfod, struct fetch *fetch, uint64_t patience)
{
	if (!fetch->child.pid)
		return true;
	if (!child_wait(&fetch->child, patience))
		return false;
	conclude(debuginfod, fetch, fetch->child.status);
	child_close(&fetch->child);
	return true;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	for (size_t i = 0; debuginfod && i < debuginfod->fetches.count; i++) {
		struct fetch *fetch = &debuginfod->fetches.items[i];
		child_close(&fetch->child);
		if (fetch->file >= 0)
			close(fetch->file);
	}
	if (debuginfod)
		array_free(&debuginfod->fetches);
	free(debuginfod);
}

/* In the child. */
static void drop_privileges(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || privileges_limit(RLIMIT_FSIZE, FILE_SIZE_MAX) ||
	    privileges_limit(RLIMIT_CORE, 0) || (!geteuid() && privileges_change_user(false)))
		_exit(CHILD_NOT_EXECUTED);
}

static int start(struct debuginfod *debuginfod, struct fetch *fetch)
{
	CLEANUP_FREE char *url = NULL;
	size_t length = strlen(debuginfod->url);
	while (length && debuginfod->url[length - 1] == '/')
		length--;
	if (asprintf(&url, "%.*s/buildid/%s/debuginfo", (int)length, debuginfod->url, fetch->id) < 0)
		return -ENOMEM;
	/* -q: no configuration file. Redirections are not followed. */
	const char *const arguments[] = { "curl",
					  "-q",
					  "--silent",
					  "--fail",
					  "--globoff",
					  "--proto",
					  "=http,https",
					  "--max-time",
					  FETCH_SECONDS,
					  "--max-filesize",
					  TEXT_OF(FILE_SIZE_MAX),
					  "--url",
					  url,
					  NULL };
	char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
	fetch->file = memfd_create("iaprof-debuginfod", MFD_CLOEXEC);
	if (fetch->file < 0)
		return -errno;
	const struct child_setup setup = { .path = "/usr/bin/curl",
					   .arguments = (char *const *)arguments,
					   .environment = environment,
					   .streams = (const int[]){ -1, fetch->file, -1 },
					   .is_leader = true,
					   .dies_with_us = true,
					   .prepare = drop_privileges };
	return child_start(&fetch->child, &setup);
}

static struct fetch *find_fetch(struct debuginfod *debuginfod, const void *build_id, size_t size, struct fetch *wanted)
{
	sodium_bin2hex(wanted->id, sizeof wanted->id, build_id, size);
	for (size_t i = 0; i < debuginfod->fetches.count; i++)
		if (strcmp(debuginfod->fetches.items[i].id, wanted->id) == 0)
			return &debuginfod->fetches.items[i];
	return NULL;
}

int debuginfod_open(struct debuginfod *debuginfod, const void *build_id, size_t size, const struct file_identity *image,
		    const char *path)
{
	struct fetch wanted = { .image = *image, .path = path, .child = CHILD_NONE, .file = -1 };
	size_t running = 0, of_owner = 0;
	if (size < 2 || size > BUILD_ID_SIZE_MAX)
		return -ENOENT;
	struct fetch *fetch = find_fetch(debuginfod, build_id, size, &wanted);
	if (fetch && !collect(debuginfod, fetch, 0))
		return -EAGAIN;
	if (fetch)
		return fetch->file < 0 ? -ENOENT : descriptor_reopen(fetch->file);
	for (size_t i = 0; i < debuginfod->fetches.count; i++) {
		running += !collect(debuginfod, &debuginfod->fetches.items[i], 0);
		of_owner += debuginfod->fetches.items[i].image.owner == image->owner;
	}
	if (running >= FETCHES_MAX)
		return budget_is_over(debuginfod->budget) ? -ENOENT : -EAGAIN;
	bool is_full = debuginfod->fetches.count >= FILES_MAX ||
		       (of_owner >= FILES_OF_OWNER_MAX && !budget_trusts(debuginfod->budget, image));
	int code = is_full ? -EDQUOT : start(debuginfod, &wanted);
	if (!code && array_push(&debuginfod->fetches, wanted))
		return -EAGAIN;
	child_close(&wanted.child);
	refuse(debuginfod, &wanted,
	       is_full ? "debuginfod: too many debug files" : "debuginfod: out of memory or processes");
	return -ENOENT;
}

bool debuginfod_wait(struct debuginfod *debuginfod, const void *build_id, size_t size)
{
	struct fetch wanted = { 0 };
	struct deadline run_end = budget_end(debuginfod->budget);
	uint64_t half = deadline_left(&run_end) / 2; /* the image is still to be read */
	struct fetch *fetch = size <= BUILD_ID_SIZE_MAX ? find_fetch(debuginfod, build_id, size, &wanted) : NULL;
	if (!fetch || collect(debuginfod, fetch, half < WAIT_MAX ? half : WAIT_MAX))
		return true;
	budget_refuse(debuginfod->budget, &fetch->image, fetch->path, "debuginfod: the server has not answered in time",
		      0);
	return false;
}
