/* SPDX-License-Identifier: Apache-2.0 */
/* Where files that belong to an image are looked for (separate debug information), and as whom they are opened. */
#ifndef IAPROF_CORE_SYMBOLIZER_IMAGE_FILES_H
#define IAPROF_CORE_SYMBOLIZER_IMAGE_FILES_H

#include "symbolizer/budget.h"
#include "broker/broker.h"
#include "symbolizer/debug_file.h"

/* The context of image_files_open(). */
struct image_files {
	struct broker *broker;
	struct budget *budget;
	const char *debug_path; /* folder of debug files */
	int root;               /* of the process, as for struct file_request */
	const char *path;       /* of the image, inside of root; NULL none */
	const struct file_identity *image;
};

/* As open() of struct debug_file_finder. A file of the image's owner or of root only: nobody else may name functions.
 */
int image_files_open(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place);

#endif
