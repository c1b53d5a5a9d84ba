/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the folder of a new plugin: see new_plugin.h. */
#include "plugin/new_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/machine.h"
#include "config/build_paths.h"
#include "config/config_file.h"
#include "config/value.h"
#include "plugin/loader.h"

/* Largest example, in bytes. */
#define EXAMPLE_SIZE_MAX (1 << 20)

/*
 * The example of each kind is a plugin of this name. A new plugin differs from it in the name: as a string, and in the
 * names of files.
 */
static const struct template
{
	const char *kind, *name, *try;
}
templates[] = {
	{ "source", "accelerator", "-s %s -o %s.html" },
	{ "sink", "hottest", "-k %s -o %s.txt -d 5s" },
	{ "decoder", "ebpf", "--help %s" },
};
#define TEMPLATE_COUNT (sizeof templates / sizeof *templates)

/*
 * Files of a new plugin, each below the examples and in the folder; %s is the name of the example, or of the plugin. An
 * example for all kinds has NAME instead.
 */
static const struct template_file {
	const char *example, *file;
	mode_t mode;
} files[] = {
	{ "plugins/iaprof-%s.c", "iaprof-%s.c", 0666 },
	{ "plugins/%s.test", "test.sh", 0777 },
	{ "plugins/plugin.build", "meson.build", 0666 },
};
#define FILE_COUNT (sizeof files / sizeof *files)

/* A name in which the only conversion of the pattern is replaced. */
static char *expand(const char *pattern, const char *name)
{
	const char *place = strstr(pattern, "%s");
	return place ? format_new("%.*s%s%s", (int)(place - pattern), pattern, name, place + 2) : strdup(pattern);
}

/* Copies text, with the name of the example replaced where it is a string or follows "iaprof-". */
static void copy_renamed(FILE *output, const char *text, const char *example, const char *name)
{
	size_t length = strlen(example);
	for (const char *found; (found = strstr(text, example)); text = found + length) {
		bool is_string = found > text && found[-1] == '"' && found[length] == '"';
		bool is_file = found - text >= 7 && strncmp(found - 7, "iaprof-", 7) == 0;
		fwrite(text, 1, (size_t)(found - text), output);
		fputs(is_string || is_file ? name : example, output);
	}
	fputs(text, output);
}

static char *read_example(const char *path, struct error *error)
{
	FILE *file CLEANUP_FCLOSE = fopen(path, "re");
	char *text CLEANUP_FREE = calloc(1, EXAMPLE_SIZE_MAX + 1);
	if (!text || !file || (!fread(text, 1, EXAMPLE_SIZE_MAX, file) && ferror(file))) {
		error_set(error, errno, "cannot read %s: %s (the examples are installed with iaprof)", path,
			  strerror(errno));
		return NULL;
	}
	return STEAL_POINTER(text);
}

static int write_file(int folder, const struct template_file *file, const struct template *template, const char *name,
		      struct error *error)
{
	char *example CLEANUP_FREE = expand(file->example, template->name);
	char *target CLEANUP_FREE = expand(file->file, name);
	char *path CLEANUP_FREE = example ? example_find(example) : NULL;
	if (!example || !target)
		return error_set(error, ENOMEM, "out of memory");
	if (!path)
		return error_set(error, ENOENT, "the example %s is not installed", example);
	char *text CLEANUP_FREE = read_example(path, error);
	if (!text)
		return error->code;
	int descriptor = openat(folder, target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->mode);
	FILE *output = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	if (!output)
		return error_set(error, errno, "cannot create %s: %s", target, strerror(errno));
	copy_renamed(output, text, strstr(file->example, "%s") ? template->name : "NAME", name);
	bool failed = ferror(output);
	if (fclose(output) || failed)
		return error_set(error, errno, "cannot write %s: %s", target, strerror(errno));
	return 0;
}

static int print_steps(const struct template *template, const char *folder, const char *name, struct error *error)
{
	char *first CLEANUP_FREE = expand(template->try, name);
	char *try CLEANUP_FREE = first ? expand(first, name) : NULL;
	char *programs CLEANUP_FREE = program_folder();
	char *path CLEANUP_FREE = programs ? format_new("%s/" PKG_CONFIG_FOLDER_FROM_BIN, programs) : NULL;
	char *packages CLEANUP_FREE = path ? realpath(path, NULL) : NULL;
	if (!try)
		return error_set(error, ENOMEM, "out of memory");
	/* Neither pkg-config nor sudo looks into other folders. */
	bool is_usual = !packages || strncmp(packages, "/usr/", 5) == 0;
	printf("%s is a %s that works. Change it step by step:\n"
	       "  cd %s\n"
	       "  meson setup build%s%s\n"
	       "  meson test -C build\n"
	       "  sudo %s%siaprof --plugin-path build %s\n"
	       "iaprof-plugin(7) is the manual.\n",
	       folder, template->kind, folder, is_usual ? "" : " --pkg-config-path ", is_usual ? "" : packages,
	       is_usual ? "" : programs, is_usual ? "" : "/", try);
	return 0;
}

int new_plugin_write(const char *kind, const char *name, struct error *error)
{
	const struct template *template = NULL;
	for (size_t i = 0; i < TEMPLATE_COUNT; i++)
		template = strcmp(kind, templates[i].kind) == 0 ? &templates[i] : template;
	if (!template)
		return error_set(error, EINVAL, "'%s' is no kind of plugin: source, sink or decoder",
				 value_excerpt(kind).text);
	if (!plugin_is_name(name))
		return error_set(error, EINVAL, "'%s' is no name of a plugin: up to 63 of a-z, 0-9 and '-'",
				 value_excerpt(name).text);
	char *folder CLEANUP_FREE = format_new("iaprof-%s", name);
	if (!folder)
		return error_set(error, ENOMEM, "out of memory");
	if (mkdir(folder, 0777))
		return error_set(error, errno, "cannot create the folder %s: %s", folder, strerror(errno));
	int descriptor CLEANUP_CLOSE = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = descriptor < 0 ? error_set(error, errno, "cannot open %s: %s", folder, strerror(errno)) : 0;
	for (size_t i = 0; !result && i < FILE_COUNT; i++)
		result = write_file(descriptor, &files[i], template, name, error);
	if (!result)
		return print_steps(template, folder, name, error);
	for (size_t i = 0; descriptor >= 0 && i < FILE_COUNT; i++) {
		char *target CLEANUP_FREE = expand(files[i].file, name);
		if (target)
			unlinkat(descriptor, target, 0);
	}
	rmdir(folder);
	return result;
}
