/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a plugin file and validates its description: see loader.h. */
#include "plugin/loader.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plugin/plugin_call.h"
#include "config/value.h"

#define FILE_PREFIX "iaprof-"
#define FILE_SUFFIX ".so"
#define NAME_LENGTH_MAX 63

/* Callbacks may be missing at the end of a plugin's struct. */
#define SIZE_MINIMUM offsetof(struct iaprof_plugin, configure)

/* Limit on the instance size; a larger one is an error. */
#define INSTANCE_SIZE_MAX ((size_t)64 << 20)

/* Limit on companions. */
#define COMPANION_COUNT_MAX 16

const char *plugin_kind_name(uint32_t kind)
{
	static const char *const names[] = { "plugin", "source", "sink", "decoder" };
	return names[kind <= IAPROF_PLUGIN_DECODER ? kind : 0];
}

char *plugin_name_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	size_t prefix = strlen(FILE_PREFIX), suffix = strlen(FILE_SUFFIX), length = strlen(file);
	if (length <= prefix + suffix || strncmp(file, FILE_PREFIX, prefix) ||
	    strcmp(file + length - suffix, FILE_SUFFIX))
		return NULL;
	return strndup(file + prefix, length - prefix - suffix);
}

bool plugin_loading_is_privileged(void)
{
	return geteuid() == 0 || getauxval(AT_SECURE);
}

/*
 * Returns the user who started iaprof: under sudo, the user who called it. The environment is ignored if iaprof has
 * file capabilities or is set-user-ID.
 */
static uid_t caller(void)
{
	const char *text = getauxval(AT_SECURE) ? NULL : getenv("SUDO_UID");
	uint64_t uid;
	return text && !value_parse_uint(text, &uid) && uid < UINT32_MAX ? (uid_t)uid : getuid();
}

int plugin_check_owner(const char *path, struct error *error)
{
	struct stat status;
	if (stat(path, &status))
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	if (status.st_uid != 0 && status.st_uid != caller())
		return error_set(
			error, EPERM,
			"%s belongs to user %u, who could change what runs with iaprof's rights: chown it to root",
			path, status.st_uid);
	if ((status.st_mode & S_IWOTH) || ((status.st_mode & S_IWGRP) && status.st_gid != 0))
		return error_set(error, EPERM,
				 "%s can be written by others than its owner, who could change what runs with "
				 "iaprof's rights: chmod go-w it",
				 path);
	return 0;
}

static int check_permissions(const char *path, struct error *error)
{
	int result = plugin_check_owner(path, error);
	if (result)
		return result;
	CLEANUP_FREE char *folder = strdup(path);
	if (!folder)
		return error_set(error, ENOMEM, "out of memory");
	char *slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	return plugin_check_owner(folder, error);
}

bool plugin_is_name(const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < length; i++)
		if (!(islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) || (name[i] == '-' && i > 0)))
			return false;
	return length > 0 && length <= NAME_LENGTH_MAX;
}

/* Returns the first missing mandatory member, or NULL. */
static const char *missing_member(const struct iaprof_plugin *plugin)
{
	switch (plugin->kind) {
	case IAPROF_PLUGIN_SOURCE:
		return !plugin->start ? "start" : !plugin->stop ? "stop" : NULL;
	case IAPROF_PLUGIN_SINK:
		return !plugin->finish ? "finish" : !plugin->records && !plugin->profile ? "records or profile" : NULL;
	default:
		return !plugin->code_open     ? "code_open"
		       : !plugin->code_close  ? "code_close"
		       : !plugin->code_decode ? "code_decode"
					      : NULL;
	}
}

/* Returns whether companions are names of other plugins. An unterminated list fails at its first invalid name. */
static bool companions_are_names(const struct iaprof_plugin *plugin)
{
	for (size_t i = 0; plugin->companions && plugin->companions[i]; i++)
		if (i == COMPANION_COUNT_MAX || !plugin_is_name(plugin->companions[i]) ||
		    !strcmp(plugin->companions[i], plugin->name))
			return false;
	return true;
}

static struct option_table options_of(const struct iaprof_plugin *description)
{
	return (struct option_table){ description->options, description->option_count, description->option_size };
}

int plugin_check_options(const struct iaprof_plugin *description, struct error *error)
{
	static const char *const reserved[] = { "isolate", "output" };
	const struct option_table options = options_of(description);
	size_t count = description->kind == IAPROF_PLUGIN_SINK ? 2 : 1; /* only sinks have an output */
	struct iaprof_option option;
	int result = option_table_check(&options, description->instance_size, error);
	for (size_t i = 0; !result && i < count; i++)
		if (option_table_find(&options, reserved[i], &option))
			result = error_set(error, EINVAL,
					   "option '%s' is reserved: iaprof adds it to every %s (rename it)",
					   option.name, plugin_kind_name(description->kind));
	return result;
}

int plugin_take_description(struct plugin *plugin, const struct iaprof_plugin *theirs, const char *name,
			    struct error *error)
{
	if (!theirs)
		return error_set(error, EINVAL, "%s() returns NULL", IAPROF_PLUGIN_SYMBOL);
	if (theirs->abi_version != IAPROF_ABI_VERSION)
		return error_set(error, EINVAL,
				 "is built for version %u of the plugin interface, this iaprof has version %u: "
				 "rebuild it",
				 theirs->abi_version, IAPROF_ABI_VERSION);
	if (theirs->size < SIZE_MINIMUM)
		return error_set(error, EINVAL, "its description is cut off: %u bytes, at least %zu", theirs->size,
				 SIZE_MINIMUM);
	struct iaprof_plugin *ours = &plugin->description;
	*ours = (struct iaprof_plugin){ 0 };
	memcpy(ours, theirs, theirs->size < sizeof *ours ? theirs->size : sizeof *ours);
	if (ours->schema_version != IAPROF_SCHEMA_VERSION)
		return error_set(error, EINVAL,
				 "is built for version %u of the record schema, this iaprof has version %u: "
				 "rebuild it",
				 ours->schema_version, IAPROF_SCHEMA_VERSION);
	if (ours->kind < IAPROF_PLUGIN_SOURCE || ours->kind > IAPROF_PLUGIN_DECODER)
		return error_set(error, EINVAL, "unknown kind %u of plugin", ours->kind);
	if (!ours->name || !plugin_is_name(ours->name))
		return error_set(error, EINVAL, "its name is missing, or is not made of a-z, 0-9 and '-'");
	if (strcmp(ours->name, name))
		return error_set(error, EINVAL, "calls itself \"%s\": its file must be named %s%s%s", ours->name,
				 FILE_PREFIX, ours->name, FILE_SUFFIX);
	if (!ours->instance_size || ours->instance_size > INSTANCE_SIZE_MAX)
		return error_set(error, EINVAL, "instance size of %zu bytes", ours->instance_size);
	const char *missing = missing_member(ours);
	if (missing)
		return error_set(error, EINVAL, "a %s needs %s()", plugin_kind_name(ours->kind), missing);
	if (!companions_are_names(ours))
		return error_set(error, EINVAL, "its companions are not up to %d names of other plugins",
				 COMPANION_COUNT_MAX);
	if (ours->option_count && (!ours->options || ours->option_size < OPTION_SIZE_MINIMUM))
		return error_set(error, EINVAL, "its option table is cut off");
	if (!ours->description)
		ours->description = "";
	plugin->options = options_of(ours);
	return plugin_check_options(ours, error);
}

/* Removes the path from dlerror(), because the message already begins with it. */
static const char *dynamic_error(const char *path)
{
	const char *text = dlerror();
	size_t length = strlen(path);
	if (!text)
		return "unknown error";
	return strncmp(text, path, length) ? text : text + length + strspn(text + length, ": ");
}

static int load(struct plugin *plugin, const char *path, struct error *error)
{
	plugin->path = realpath(path, NULL);
	if (!plugin->path)
		return error_set(error, errno, "%s", strerror(errno));
	CLEANUP_FREE char *name = plugin_name_of_file(path);
	if (!name)
		return error_set(error, EINVAL, "a plugin's file is named %sNAME%s", FILE_PREFIX, FILE_SUFFIX);
	int result = plugin_loading_is_privileged() ? check_permissions(plugin->path, error) : 0;
	if (result)
		return result;
	CLEANUP(plugin_call_end)
	struct plugin_call before = plugin_call_begin("plugin", plugin->path, IAPROF_PLUGIN_SYMBOL);
	void *handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		return error_set(error, EINVAL, "%s", dynamic_error(plugin->path));
	iaprof_plugin_register_function *registration;
	*(void **)&registration = dlsym(handle, IAPROF_PLUGIN_SYMBOL);
	if (!registration)
		return error_set(error, EINVAL, "has no symbol %s: it is not a plugin of iaprof", IAPROF_PLUGIN_SYMBOL);
	return plugin_take_description(plugin, registration(), name, error);
}

struct plugin *plugin_load(const char *path, struct error *error)
{
	struct plugin *plugin = calloc(1, sizeof *plugin);
	if (!plugin) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	if (load(plugin, path, error)) {
		error_wrap(error, "plugin %s", path);
		plugin_free(plugin);
		return NULL;
	}
	return plugin;
}

int plugin_load_code(struct plugin *plugin, struct error *error)
{
	if (!plugin->has_no_code)
		return 0;
	struct plugin *loaded = plugin_load(plugin->path, error);
	if (!loaded)
		return error->code;
	/* The settings are stored already, where the options were. */
	bool is_same = loaded->description.kind == plugin->description.kind &&
		       loaded->description.instance_size == plugin->description.instance_size &&
		       loaded->options.count == plugin->options.count;
	if (is_same) {
		plugin->description = loaded->description;
		plugin->options = loaded->options;
		plugin->has_no_code = false;
	} else {
		error_set(error, ESTALE, "plugin %s: the file was replaced (run iaprof again)", plugin->path);
	}
	plugin_free(loaded);
	return is_same ? 0 : error->code;
}

void plugin_free(struct plugin *plugin)
{
	if (!plugin)
		return;
	arena_free(&plugin->memory);
	free(plugin->path);
	free(plugin);
}
