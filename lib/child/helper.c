/* SPDX-License-Identifier: Apache-2.0 */
/* See helper.h. */
#include "child/helper.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/machine.h"
#include "base/priority.h"
#include "child/helper_paths.h"

/* Depth of programs below the root of a build tree: tests/unit/symbolizer/NAME. */
#define BUILD_TREE_DEPTH 4

/* Returns whether only root, the current user and the owner of this program can write a file or folder. */
static bool is_safe(const char *path)
{
	struct stat status, own;
	if (stat(path, &status) || stat("/proc/self/exe", &own) || status.st_mode & S_IWOTH)
		return false;
	return status.st_uid == 0 || status.st_uid == geteuid() || status.st_uid == own.st_uid;
}

/* Returns the root of the build tree that contains a folder, or NULL. */
static char *build_tree_of(const char *folder)
{
	CLEANUP_FREE char *root = strdup(folder);
	for (int depth = 0; root && depth < BUILD_TREE_DEPTH; depth++) {
		CLEANUP_FREE char *probe = NULL;
		if (asprintf(&probe, "%s/meson-info", root) < 0)
			return NULL;
		if (!access(probe, F_OK) && is_safe(root) && is_safe(probe))
			return STEAL_POINTER(root);
		char *slash = strrchr(root, '/');
		if (!slash || slash == root)
			return NULL;
		*slash = '\0';
	}
	return NULL;
}

static bool try_folder(char **path, const char *folder, const char *subfolder, const char *name)
{
	if (asprintf(path, "%s%s/%s", folder, subfolder, name) < 0) {
		*path = NULL;
		return false;
	}
	CLEANUP_FREE char *parent = strdup(*path);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	if (slash)
		*slash = '\0';
	if (slash && !access(*path, X_OK) && is_safe(*path) && is_safe(parent))
		return true;
	free(STEAL_POINTER(*path));
	return false;
}

/* Finds a helper: in the build tree of this program, relative to a relocated installation, or as installed. */
static int find_program(char **path, const char *name)
{
	CLEANUP_FREE char *folder = program_folder();
	if (folder) {
		CLEANUP_FREE char *tree = build_tree_of(folder);
		if (tree ? try_folder(path, tree, "", name)
			 : try_folder(path, folder, "/" HELPER_FOLDER_FROM_BIN, name))
			return 0;
	}
	return try_folder(path, HELPER_FOLDER, "", name) ? 0 : -ENOENT;
}

char *helper_path(const char *name)
{
	char *path = NULL;
	return find_program(&path, name) ? NULL : path;
}

int helper_start(struct child *child, char *const *arguments)
{
	static const int streams[] = { -1, -1, STDERR_FILENO };
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *library_path = NULL;
	/* Only the library path is inherited from the environment: the helper runs with different privileges. */
	const char *libraries = secure_getenv("LD_LIBRARY_PATH");
	int code = find_program(&path, arguments[0]);
	if (!code && libraries && asprintf(&library_path, "LD_LIBRARY_PATH=%s", libraries) < 0) {
		library_path = NULL;
		code = -ENOMEM;
	}
	/* Huge pages, if the machine permits them: a worker allocates new memory for each file. */
	char *const environment[] = { "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", library_path, NULL };
	const struct child_setup setup = { .path = path,
					   .arguments = arguments,
					   .environment = environment,
					   .channel = SOCK_STREAM,
					   .streams = streams,
					   .is_leader = true,
					   .prepare = priority_raise_session };
	return code ? code : child_start(child, &setup);
}
