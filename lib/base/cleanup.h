/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup attributes: a local variable is released when it goes out of scope. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* clang does not count a cleanup as a use of a variable. */
#define CLEANUP(function) __attribute__((cleanup(function), unused))

static inline void cleanup_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}
static inline void cleanup_close_descriptor(const int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
}
static inline void cleanup_close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}
static inline void cleanup_close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

#define CLEANUP_FREE CLEANUP(cleanup_free_pointer)
#define CLEANUP_CLOSE CLEANUP(cleanup_close_descriptor)
#define CLEANUP_FCLOSE CLEANUP(cleanup_close_file)
#define CLEANUP_CLOSEDIR CLEANUP(cleanup_close_folder)

/* Moves a value to a longer-lived owner, so that the cleanup finds nothing to release. */
#define STEAL_POINTER(pointer)                                                                                         \
	({                                                                                                             \
		__typeof__(pointer) stolen_ = (pointer);                                                               \
		(pointer) = NULL;                                                                                      \
		stolen_;                                                                                               \
	})
#define STEAL_DESCRIPTOR(descriptor)                                                                                   \
	({                                                                                                             \
		int stolen_ = (descriptor);                                                                            \
		(descriptor) = -1;                                                                                     \
		stolen_;                                                                                               \
	})
