/* SPDX-License-Identifier: Apache-2.0 */
/* Finds plugin files: see registry.h. */
#include "plugin/registry.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "config/value.h"
#include "plugin/build_paths.h"

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static struct registry_entry *find(struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->entries.count; i++)
		if (!strcmp(registry->entries.items[i].name, name))
			return &registry->entries.items[i];
	return NULL;
}

/* Adds a plugin file under its name, unless an earlier folder had one of that name. */
static int add(struct registry *registry, const char *name, const char *path, struct error *error)
{
	if (find(registry, name))
		return 0;
	struct registry_entry entry = { .name = strdup(name), .path = strdup(path) };
	if (!entry.name || !entry.path || !array_push(&registry->entries, entry)) {
		free(entry.name);
		free(entry.path);
		return error_set(error, ENOMEM, "out of memory");
	}
	return 0;
}

/* Adds the plugin files in a folder; a folder that is not there has none. */
static int scan_folder(struct registry *registry, const char *folder, struct error *error)
{
	CLEANUP(close_directory) DIR *directory = opendir(folder);
	for (const struct dirent *file; directory && (file = readdir(directory));) {
		CLEANUP_FREE char *name = plugin_name_of_file(file->d_name);
		CLEANUP_FREE char *path = NULL;
		if (!name)
			continue;
		if (asprintf(&path, "%s/%s", folder, file->d_name) < 0) {
			path = NULL;
			return error_set(error, ENOMEM, "out of memory");
		}
		int result = add(registry, name, path, error);
		if (result)
			return result;
	}
	return 0;
}

static int scan_path_list(struct registry *registry, const char *list, struct error *error)
{
	CLEANUP_FREE char *copy = strdup(list);
	int result = copy ? 0 : error_set(error, ENOMEM, "out of memory");
	char *rest = copy;
	for (char *folder; !result && (folder = strsep(&rest, ":"));)
		if (*folder)
			result = scan_folder(registry, folder, error);
	return result;
}

/* The folder that the running iaprof lies in, without its last '/'. */
static char *folder_of_program(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	if (length <= 0)
		return NULL;
	path[length] = '\0';
	char *slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return strdup(path);
}

/* In a build tree each plugin is in a folder of its own: PLUGINS/NAME/iaprof-NAME.so. */
static int scan_build_tree(struct registry *registry, const char *plugins, struct error *error)
{
	CLEANUP(close_directory) DIR *directory = opendir(plugins);
	int result = 0;
	for (const struct dirent *file; !result && directory && (file = readdir(directory));) {
		CLEANUP_FREE char *folder = NULL;
		if (file->d_name[0] == '.')
			continue;
		if (asprintf(&folder, "%s/%s", plugins, file->d_name) < 0) {
			folder = NULL;
			return error_set(error, ENOMEM, "out of memory");
		}
		result = scan_folder(registry, folder, error);
	}
	return result;
}

static int scan_beside_program(struct registry *registry, struct error *error)
{
	CLEANUP_FREE char *program = folder_of_program();
	CLEANUP_FREE char *meson = NULL;
	CLEANUP_FREE char *plugins = NULL;
	if (!program)
		return scan_folder(registry, PLUGIN_FOLDER, error);
	if (asprintf(&meson, "%s/meson-info", program) < 0)
		return error_set(error, ENOMEM, "out of memory");
	bool in_build_tree = !access(meson, F_OK);
	if (asprintf(&plugins, "%s/%s", program, in_build_tree ? "plugins" : PLUGIN_FOLDER_FROM_BIN) < 0)
		return error_set(error, ENOMEM, "out of memory");
	int result = in_build_tree ? scan_build_tree(registry, plugins, error) : scan_folder(registry, plugins, error);
	return result || in_build_tree ? result : scan_folder(registry, PLUGIN_FOLDER, error);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct registry_entry *)a)->name, ((const struct registry_entry *)b)->name);
}

int registry_scan(struct registry *registry, struct error *error)
{
	int result = 0;
	if (!plugin_loading_is_privileged()) {
		const char *list = getenv("IAPROF_PLUGIN_PATH"), *home = getenv("HOME");
		if (list)
			result = scan_path_list(registry, list, error);
		CLEANUP_FREE char *folder = NULL;
		if (!result && home && *home == '/' && asprintf(&folder, "%s/.local/lib/iaprof/plugins", home) >= 0)
			result = scan_folder(registry, folder, error);
	}
	if (!result)
		result = scan_beside_program(registry, error);
	if (registry->entries.count)
		qsort(registry->entries.items, registry->entries.count, sizeof *registry->entries.items,
		      compare_entries);
	return result;
}

void registry_free(struct registry *registry)
{
	for (size_t i = 0; i < registry->entries.count; i++) {
		free(registry->entries.items[i].name);
		free(registry->entries.items[i].path);
		plugin_free(registry->entries.items[i].plugin);
	}
	array_free(&registry->entries);
}

struct plugin *registry_load_entry(struct registry_entry *entry, struct error *error)
{
	if (!entry->plugin)
		entry->plugin = plugin_load(entry->path, error);
	return entry->plugin;
}

static int fail_unknown(const struct registry *registry, const char *name, uint32_t kind, struct error *error)
{
	CLEANUP_FREE const char **names = calloc(registry->entries.count + 1, sizeof *names);
	for (size_t i = 0; names && i < registry->entries.count; i++)
		names[i] = registry->entries.items[i].name;
	const char *nearest = names ? value_nearest_name(name, names) : NULL;
	if (nearest)
		return error_set(error, ENOENT, "no %s \"%s\": did you mean \"%s\"?", plugin_kind_name(kind), name,
				 nearest);
	return error_set(error, ENOENT, "no %s \"%s\": iaprof --list shows what there is", plugin_kind_name(kind),
			 name);
}

struct plugin *registry_get(struct registry *registry, const char *name, uint32_t kind, struct error *error)
{
	/* A path is a plugin of its own, beside one of the same name in a folder. */
	if (strchr(name, '/') && add(registry, name, name, error))
		return NULL;
	struct registry_entry *entry = find(registry, name);
	if (!entry) {
		fail_unknown(registry, name, kind, error);
		return NULL;
	}
	struct plugin *plugin = registry_load_entry(entry, error);
	if (plugin && kind != REGISTRY_ANY_KIND && plugin->description.kind != kind) {
		error_set(error, EINVAL, "\"%s\" is a %s, not a %s", name, plugin_kind_name(plugin->description.kind),
			  plugin_kind_name(kind));
		return NULL;
	}
	return plugin;
}
