/* SPDX-License-Identifier: Apache-2.0 */
/* See config_file.h. */
#include "config/config_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/machine.h"
#include "config/build_paths.h"

bool config_file_is_name(const char *name)
{
	return *name && !strchr(name, '/');
}

/* Returns the path of an example in a folder, or NULL if it is not there. */
static char *find_in(const char *folder, const char *subfolder, const char *name)
{
	CLEANUP_FREE char *path = format_new("%s/%s/%s", folder, subfolder, name);
	return path && !access(path, F_OK) ? STEAL_POINTER(path) : NULL;
}

char *example_find(const char *name)
{
	CLEANUP_FREE char *program = program_folder();
	CLEANUP_FREE char *meson = program ? format_new("%s/meson-info", program) : NULL;
	bool in_build_tree = meson && !access(meson, F_OK);
	char *path = program ? find_in(program, in_build_tree ? "examples" : EXAMPLES_FOLDER_FROM_BIN, name) : NULL;
	return path || in_build_tree ? path : find_in(EXAMPLES_FOLDER, ".", name);
}

char *config_file_find(const char *name)
{
	/* A file in the current folder that cannot be read is reported, not replaced. */
	bool is_here = !config_file_is_name(name) || !faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW);
	char *example = is_here ? NULL : example_find(name);
	return example ? example : strdup(name);
}
