/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from a debuginfod server, only if the user names one: GET URL/buildid/ID/debuginfo. Each is fetched by
 * curl(1) as a user of its own, without capabilities, into a file in memory of bounded size; the reader of the file
 * verifies its build id. Owned by one thread; fetches run beside it.
 */
#pragma once

#include <stdbool.h>
#include "symbolizer/budget.h"

struct debuginfod;

/* Returns NULL if out of memory. url and budget outlive it. */
struct debuginfod *debuginfod_new(const char *url, struct budget *budget);
/* Ends fetches that still run. NULL: does nothing. */
void debuginfod_free(struct debuginfod *debuginfod);

/*
 * Opens the debug file with this build id for an image. Returns a descriptor, owned by the caller; -EAGAIN: it is being
 * fetched; -ENOENT: the server has none, or it was refused. path: of the image, for messages.
 */
int debuginfod_open(struct debuginfod *debuginfod, const void *build_id, size_t size, const struct file_identity *image,
		    const char *path);
/*
 * Waits until the debug file has been fetched, for half of the time that the run permits. Returns whether it has; if
 * not, this is reported.
 */
bool debuginfod_wait(struct debuginfod *debuginfod, const void *build_id, size_t size);
