/* SPDX-License-Identifier: Apache-2.0 */
/* Finds plugin files: see registry.h. */
#include "plugin/registry.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/machine.h"
#include "config/output_format.h"
#include "config/value.h"
#include "config/build_paths.h"
#include "plugin/plugin_description.h"

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static struct registry_entry *find_entry(struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->entries.count; i++)
		if (!strcmp(registry->entries.items[i].name, name))
			return &registry->entries.items[i];
	return NULL;
}

/* Adds a plugin file, unless an earlier folder has one of the same name. */
static int add_entry(struct registry *registry, const char *name, const char *path, struct error *error)
{
	if (find_entry(registry, name))
		return 0;
	struct registry_entry entry = { .name = strdup(name),
					.path = strdup(path),
					.is_read_apart = registry->reads_apart };
	if (!entry.name || !entry.path || !array_push(&registry->entries, entry)) {
		free(entry.name);
		free(entry.path);
		return error_set(error, ENOMEM, "out of memory");
	}
	return 0;
}

/* Adds the plugin files in a folder, which need not exist. */
static int scan_folder(struct registry *registry, const char *folder, struct error *error)
{
	CLEANUP(close_directory) DIR *directory = opendir(folder);
	for (const struct dirent *file; directory && (file = readdir(directory));) {
		CLEANUP_FREE char *name = plugin_name_of_file(file->d_name);
		if (!name)
			continue;
		CLEANUP_FREE char *path = format_new("%s/%s", folder, file->d_name);
		if (!path)
			return error_set(error, ENOMEM, "out of memory");
		int result = add_entry(registry, name, path, error);
		if (result)
			return result;
	}
	return 0;
}

static int scan_path_list(struct registry *registry, const char *list,
			  int (*scan)(struct registry *registry, const char *folder, struct error *error),
			  struct error *error)
{
	CLEANUP_FREE char *copy = strdup(list);
	int result = copy ? 0 : error_set(error, ENOMEM, "out of memory");
	char *rest = copy;
	for (char *folder; !result && (folder = strsep(&rest, ":"));)
		if (*folder)
			result = scan(registry, folder, error);
	return result;
}

/* Scans a build tree, where each plugin has a folder: PLUGINS/sink-NAME/iaprof-NAME.so, for example. */
static int scan_build_tree(struct registry *registry, const char *plugins, struct error *error)
{
	CLEANUP(close_directory) DIR *directory = opendir(plugins);
	int result = 0;
	for (const struct dirent *file; !result && directory && (file = readdir(directory));) {
		if (file->d_name[0] == '.')
			continue;
		CLEANUP_FREE char *folder = format_new("%s/%s", plugins, file->d_name);
		if (!folder)
			return error_set(error, ENOMEM, "out of memory");
		result = scan_folder(registry, folder, error);
	}
	return result;
}

static int scan_beside_program(struct registry *registry, struct error *error)
{
	CLEANUP_FREE char *program = program_folder();
	if (!program)
		return scan_folder(registry, PLUGIN_FOLDER, error);
	CLEANUP_FREE char *meson = format_new("%s/meson-info", program);
	bool in_build_tree = meson && !access(meson, F_OK);
	CLEANUP_FREE char *plugins = format_new("%s/%s", program, in_build_tree ? "plugins" : PLUGIN_FOLDER_FROM_BIN);
	if (!meson || !plugins)
		return error_set(error, ENOMEM, "out of memory");
	int result = in_build_tree ? scan_build_tree(registry, plugins, error) : scan_folder(registry, plugins, error);
	return result || in_build_tree ? result : scan_folder(registry, PLUGIN_FOLDER, error);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct registry_entry *)a)->name, ((const struct registry_entry *)b)->name);
}

static void sort(struct registry *registry)
{
	if (registry->entries.count)
		qsort(registry->entries.items, registry->entries.count, sizeof *registry->entries.items,
		      compare_entries);
}

int registry_scan(struct registry *registry, struct error *error)
{
	int result = 0;
	if (!plugin_loading_is_privileged()) {
		const char *list = getenv("IAPROF_PLUGIN_PATH"), *home = getenv("HOME");
		if (list)
			result = scan_path_list(registry, list, scan_folder, error);
		CLEANUP_FREE char *folder =
			home && *home == '/' ? format_new("%s/.local/lib/iaprof/plugins", home) : NULL;
		if (!result && folder)
			result = scan_folder(registry, folder, error);
	}
	if (!result)
		result = scan_beside_program(registry, error);
	sort(registry);
	return result;
}

static int add_named_folder(struct registry *registry, const char *folder, struct error *error)
{
	CLEANUP(registry_free) struct registry found = { .reads_apart = registry->reads_apart };
	CLEANUP_FREE char *path = realpath(folder, NULL);
	struct stat status;
	if (!path || stat(path, &status))
		return error_set(error, errno, "folder %s: %s", folder, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return error_set(error, ENOTDIR, "%s is not a folder (--source and --sink take the path of a plugin)",
				 folder);
	int result = plugin_loading_is_privileged() ? plugin_check_owner(path, error) : 0;
	if (!result)
		result = scan_folder(&found, path, error);
	if (!result && !found.entries.count)
		result = error_set(error, ENOENT, "folder %s has no plugin, a file iaprof-NAME.so that can be read",
				   folder);
	for (size_t i = 0; !result && i < found.entries.count; i++) {
		struct registry_entry *entry = &found.entries.items[i], *known = find_entry(registry, entry->name);
		entry->is_named = true;
		if (known && !known->is_named) {
			struct registry_entry other = *known;
			*known = *entry;
			*entry = other; /* released with found */
		} else if (!known && array_push(&registry->entries, *entry)) {
			*entry = (struct registry_entry){ 0 };
		} else if (!known) {
			result = error_set(error, ENOMEM, "out of memory");
		}
	}
	return result;
}

int registry_add_folders(struct registry *registry, const char *list, struct error *error)
{
	pthread_mutex_lock(&registry->lock);
	int result = scan_path_list(registry, list, add_named_folder, error);
	sort(registry);
	pthread_mutex_unlock(&registry->lock);
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

/* Returns whether a path is in a folder, or for a build tree in a folder of it. */
static bool is_in_folder(const char *path, const char *folder, bool is_below)
{
	CLEANUP_FREE char *real = folder ? realpath(folder, NULL) : NULL;
	size_t length = real ? strlen(real) : 0;
	if (!length || strncmp(path, real, length) != 0 || path[length] != '/')
		return false;
	const char *slash = strchr(path + length + 1, '/');
	return is_below ? slash && !strchr(slash + 1, '/') : !slash;
}

/*
 * Returns whether a plugin file, a real path, was built with iaprof: its name is one of the build's, and it lies where
 * iaprof is installed, or in the build tree. Other packages install plugins into the same folder.
 */
static bool is_built_with_iaprof(const char *path)
{
	CLEANUP_FREE char *name = plugin_name_of_file(path);
	CLEANUP_FREE char *entry = name ? format_new(" %s ", name) : NULL;
	if (!entry || !strstr(BUILT_PLUGINS, entry))
		return false;
	CLEANUP_FREE char *program = program_folder();
	CLEANUP_FREE char *meson = program ? format_new("%s/meson-info", program) : NULL;
	if (meson && !access(meson, F_OK)) {
		CLEANUP_FREE char *plugins = format_new("%s/plugins", program);
		return is_in_folder(path, plugins, true);
	}
	CLEANUP_FREE char *beside = program ? format_new("%s/%s", program, PLUGIN_FOLDER_FROM_BIN) : NULL;
	return is_in_folder(path, beside, false) || is_in_folder(path, PLUGIN_FOLDER, false);
}

static struct plugin *load_entry(struct registry_entry *entry, struct error *error)
{
	if (entry->plugin)
		return entry->plugin;
	/* It may have taken seconds to fail. */
	if (entry->failure.text[0]) {
		*error = entry->failure;
		return NULL;
	}
	CLEANUP_FREE char *path = realpath(entry->path, NULL);
	bool is_foreign = entry->is_read_apart && path && !is_built_with_iaprof(path);
	entry->plugin = is_foreign ? plugin_description_read(entry->path, error) : plugin_load(entry->path, error);
	if (entry->plugin)
		entry->plugin->is_foreign = is_foreign;
	else
		entry->failure = *error;
	return entry->plugin;
}

/* Returns whether an entry may be meant: a plugin of the kind, or one that cannot be loaded. */
static bool may_be(struct registry_entry *entry, uint32_t kind)
{
	const struct plugin *plugin = kind == REGISTRY_ANY_KIND ? NULL : load_entry(entry, &(struct error){ 0 });
	return !plugin || plugin->description.kind == kind;
}

static int fail_unknown(struct registry *registry, const char *name, uint32_t kind, struct error *error)
{
	/* "svg" and "html" for the sinks that write such files. */
	const struct output_format *format = kind == IAPROF_PLUGIN_SINK ? output_format_of_extension(name) : NULL;
	if (format)
		return error_set(error, ENOENT, "no sink \"%s\": did you mean \"%s\"?", name, format->usage);
	CLEANUP_FREE const char **names = calloc(registry->entries.count + 1, sizeof *names);
	const char *nearest = NULL;
	size_t count = 0;
	for (size_t i = 0; names && i < registry->entries.count; i++) {
		struct registry_entry *entry = &registry->entries.items[i];
		if (!may_be(entry, kind))
			continue;
		names[count++] = entry->name;
		/* The extension of another sink's files. */
		const char *extension =
			kind == IAPROF_PLUGIN_SINK && entry->plugin ? entry->plugin->operations.extension : NULL;
		if (extension && !strcmp(extension, name))
			nearest = entry->name;
	}
	if (names && !nearest)
		nearest = value_nearest_name(name, names);
	if (nearest)
		return error_set(error, ENOENT, "no %s \"%s\": did you mean \"%s\"?", plugin_kind_name(kind), name,
				 nearest);
	return error_set(error, ENOENT, "no %s \"%s\" (iaprof --list lists the plugins)", plugin_kind_name(kind), name);
}

static struct plugin *get_plugin(struct registry *registry, const char *name, uint32_t kind, struct error *error)
{
	/* A path is registered as its own name, in addition to a plugin of that name in a folder. */
	if (strchr(name, '/') && add_entry(registry, name, name, error))
		return NULL;
	struct registry_entry *entry = find_entry(registry, name);
	if (!entry) {
		fail_unknown(registry, name, kind, error);
		return NULL;
	}
	struct plugin *plugin = load_entry(entry, error);
	if (plugin && kind != REGISTRY_ANY_KIND && plugin->description.kind != kind) {
		error_set(error, EINVAL, "\"%s\" is a %s, not a %s", name, plugin_kind_name(plugin->description.kind),
			  plugin_kind_name(kind));
		return NULL;
	}
	return plugin;
}

struct plugin *registry_get(struct registry *registry, const char *name, uint32_t kind, struct error *error)
{
	pthread_mutex_lock(&registry->lock);
	struct plugin *plugin = get_plugin(registry, name, kind, error);
	pthread_mutex_unlock(&registry->lock);
	return plugin;
}

size_t registry_count(struct registry *registry)
{
	pthread_mutex_lock(&registry->lock);
	size_t count = registry->entries.count;
	pthread_mutex_unlock(&registry->lock);
	return count;
}

struct plugin *registry_load(struct registry *registry, size_t entry, struct error *error)
{
	pthread_mutex_lock(&registry->lock);
	struct plugin *plugin = load_entry(&registry->entries.items[entry], error);
	pthread_mutex_unlock(&registry->lock);
	return plugin;
}
