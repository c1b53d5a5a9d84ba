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
#define SOURCE_SIZE_MINIMUM offsetof(struct iaprof_source_operations, prepare)
#define SINK_SIZE_MINIMUM offsetof(struct iaprof_sink_operations, profile)
#define DECODER_SIZE_MINIMUM offsetof(struct iaprof_decoder_operations, image_read)

/* All of enum iaprof_plugin_flag. */
#define KNOWN_FLAGS ((IAPROF_PLUGIN_DEFAULT_OF_CONTINUOUS << 1) - 1u)

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
static const char *missing_member(uint32_t kind, const struct plugin_operations *operations)
{
	switch (kind) {
	case IAPROF_PLUGIN_SOURCE:
		return !operations->start ? "start" : !operations->stop ? "stop" : NULL;
	case IAPROF_PLUGIN_SINK:
		return !operations->finish                            ? "finish"
		       : !operations->records && !operations->profile ? "records or profile"
								      : NULL;
	default:
		return !operations->decoder.code_open     ? "code_open"
		       : !operations->decoder.code_close  ? "code_close"
		       : !operations->decoder.code_decode ? "code_decode"
							  : NULL;
	}
}

/* Returns whether companions are names of other plugins. An unterminated list fails at its first invalid name. */
static bool companions_are_names(const struct plugin *plugin)
{
	const char *const *companions = plugin->operations.companions;
	for (size_t i = 0; companions && companions[i]; i++)
		if (i == COMPANION_COUNT_MAX || !plugin_is_name(companions[i]) ||
		    !strcmp(companions[i], plugin->description.name))
			return false;
	return true;
}

/*
 * Copies a sized struct of a plugin: what it lacks is zero, what it has more is ignored. Returns 0, or sets error if
 * the struct is missing or lacks mandatory members.
 */
static int copy_sized(void *ours, size_t our_size, const void *theirs, size_t minimum, const char *what,
		      struct error *error)
{
	const uint32_t *size = theirs; /* the first member of each of them */
	memset(ours, 0, our_size);
	if (!theirs)
		return error_set(error, EINVAL, "its %s operations are missing", what);
	if (*size < minimum)
		return error_set(error, EINVAL, "its %s operations are cut off: %u bytes, at least %zu", what, *size,
				 minimum);
	memcpy(ours, theirs, *size < our_size ? *size : our_size);
	return 0;
}

static int copy_operations(struct plugin *plugin, struct error *error)
{
	const struct iaprof_plugin *description = &plugin->description;
	struct plugin_operations *operations = &plugin->operations;
	struct iaprof_source_operations source;
	struct iaprof_sink_operations sink;
	int result;
	switch (description->kind) {
	case IAPROF_PLUGIN_SOURCE:
		result = copy_sized(&source, sizeof source, description->source, SOURCE_SIZE_MINIMUM, "source", error);
		*operations = (struct plugin_operations){ .check = source.check,
							  .prepare = source.prepare,
							  .start = source.start,
							  .finish = source.finish,
							  .probe = source.probe,
							  .stop = source.stop,
							  .thread = source.thread,
							  .companions = source.companions };
		return result;
	case IAPROF_PLUGIN_SINK:
		result = copy_sized(&sink, sizeof sink, description->sink, SINK_SIZE_MINIMUM, "sink", error);
		*operations = (struct plugin_operations){ .check = sink.check,
							  .prepare = sink.prepare,
							  .start = sink.start,
							  .finish = sink.finish,
							  .extension = sink.extension,
							  .records = sink.records,
							  .profile = sink.profile };
		return result;
	case IAPROF_PLUGIN_DECODER:
		*operations = (struct plugin_operations){ 0 };
		return copy_sized(&operations->decoder, sizeof operations->decoder, description->decoder,
				  DECODER_SIZE_MINIMUM, "decoder", error);
	default:
		return error_set(error, EINVAL, "unknown kind %u of plugin", description->kind);
	}
}

static struct option_table options_of(const struct iaprof_plugin *description)
{
	return (struct option_table){ description->options, description->option_count, description->option_size };
}

int plugin_check_options(const struct iaprof_plugin *description, struct error *error)
{
	static const char *const keys[][2] = { [IAPROF_PLUGIN_SOURCE] = { "isolate", "optional" },
					       [IAPROF_PLUGIN_SINK] = { "isolate", "output" },
					       [IAPROF_PLUGIN_DECODER] = { "isolate", NULL } };
	const char *const *reserved = keys[description->kind];
	const struct option_table options = options_of(description);
	struct iaprof_option option;
	int result = option_table_check(&options, description->instance_size, error);
	for (size_t i = 0; !result && i < 2 && reserved[i]; i++)
		if (option_table_find(&options, reserved[i], &option))
			result = error_set(error, EINVAL,
					   "option '%s' is reserved: iaprof adds it to every %s (rename it)",
					   option.name, plugin_kind_name(description->kind));
	return result;
}

/* Checks that a version of what a plugin was built for is supported. Returns 0 or -EINVAL. */
static int check_version(uint32_t version, uint32_t oldest, uint32_t newest, const char *of, struct error *error)
{
	if (version > newest)
		return error_set(error, EINVAL,
				 "is built for version %u of the %s, this iaprof supports up to version %u (update "
				 "iaprof)",
				 version, of, newest);
	if (version < oldest)
		return error_set(error, EINVAL,
				 "is built for version %u of the %s, this iaprof supports version %u and later "
				 "(rebuild it: iaprof-plugin(7), Porting)",
				 version, of, oldest);
	return 0;
}

int plugin_take_description(struct plugin *plugin, const struct iaprof_plugin *theirs, const char *name,
			    struct error *error)
{
	if (!theirs)
		return error_set(error, EINVAL, "%s() returns NULL", IAPROF_PLUGIN_SYMBOL);
	int result = check_version(theirs->abi_version, IAPROF_ABI_VERSION_OLDEST, IAPROF_ABI_VERSION,
				   "plugin interface", error);
	if (result)
		return result;
	if (theirs->size < SIZE_MINIMUM)
		return error_set(error, EINVAL, "its description is cut off: %u bytes, at least %zu", theirs->size,
				 SIZE_MINIMUM);
	struct iaprof_plugin *ours = &plugin->description;
	*ours = (struct iaprof_plugin){ 0 };
	memcpy(ours, theirs, theirs->size < sizeof *ours ? theirs->size : sizeof *ours);
	result = check_version(ours->schema_version, IAPROF_SCHEMA_VERSION_OLDEST, IAPROF_SCHEMA_VERSION,
			       "record schema", error);
	if (!result)
		result = copy_operations(plugin, error);
	return result ? result : plugin_check_description(plugin, name, error);
}

int plugin_check_description(struct plugin *plugin, const char *name, struct error *error)
{
	struct iaprof_plugin *ours = &plugin->description;
	if (ours->kind < IAPROF_PLUGIN_SOURCE || ours->kind > IAPROF_PLUGIN_DECODER)
		return error_set(error, EINVAL, "unknown kind %u of plugin", ours->kind);
	if (ours->flags & ~KNOWN_FLAGS)
		return error_set(error, EINVAL,
				 "has the unknown flags 0x%x, which a later version of iaprof defines (update iaprof)",
				 ours->flags & ~KNOWN_FLAGS);
	if (!ours->name || !plugin_is_name(ours->name))
		return error_set(error, EINVAL, "its name is missing, or is not made of a-z, 0-9 and '-'");
	if (strcmp(ours->name, name))
		return error_set(error, EINVAL, "calls itself \"%s\": its file must be named %s%s%s", ours->name,
				 FILE_PREFIX, ours->name, FILE_SUFFIX);
	if (!ours->instance_size || ours->instance_size > INSTANCE_SIZE_MAX)
		return error_set(error, EINVAL, "instance size of %zu bytes", ours->instance_size);
	const char *missing = missing_member(ours->kind, &plugin->operations);
	if (missing)
		return error_set(error, EINVAL, "a %s needs %s()", plugin_kind_name(ours->kind), missing);
	if (!companions_are_names(plugin))
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
		plugin->operations = loaded->operations;
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
