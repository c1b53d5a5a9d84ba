/* SPDX-License-Identifier: Apache-2.0 */
/* Where separate debug files of an image are searched, and with which user's permissions they are opened. */
#pragma once

#include <limits.h>

#include "symbolizer/budget.h"
#include "broker/broker.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/debuginfod.h"

/* The context of image_files_open(). */
struct image_files {
	struct broker *broker;
	struct budget *budget;
	const char *debug_path; /* folder of debug files */
	int root;               /* root of the process, as in struct file_request */
	const char *path;       /* path of the image in root; NULL if none */
	const struct file_identity *image;
	struct debuginfod *debuginfod; /* NULL: none */
	const char *name;              /* of the image, for messages */
	bool awaits;                   /* set if a debug file is being fetched */
	char opened[PATH_MAX];         /* path of the debug file that was opened last; empty: none */
	int opened_root;               /* root of that path */
};

/*
 * The open() function of struct debug_file_finder. Accepts only files owned by the image's owner or root: nobody else
 * may name functions.
 */
int image_files_open(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place);
