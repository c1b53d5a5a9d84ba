/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, which are complete or not created at all: see output.h. */
#include "run/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "run/output/output_path.h"
#include "run/output/output_stream.h"

#define BUFFER_SIZE ((size_t)64 << 10)

/*
 * Names of temporary files at file scope, for a signal handler. A file that does not fit is only not removed by a
 * second Ctrl-C; a run has few open outputs.
 */
#define TEMPORARY_COUNT_MAX 64
static _Atomic(char *) temporary_names[TEMPORARY_COUNT_MAX];

/* Maximum number of names to try. */
#define TEMPORARY_ATTEMPTS 100

struct iaprof_output {
	struct stream stream;
	struct output_target *target;
	char *path;      /* the final name */
	int folder;      /* O_PATH descriptor of the folder of a regular file */
	char *temporary; /* NULL: written in place, or renamed */
	bool is_regular;
	bool is_incremental; /* IAPROF_OUTPUT_INCREMENTAL */
	size_t used;
	char buffer[BUFFER_SIZE];
};

static void remember_temporary(char *name)
{
	for (size_t i = 0; i < TEMPORARY_COUNT_MAX; i++) {
		char *none = NULL;
		if (atomic_compare_exchange_strong(&temporary_names[i], &none, name))
			return;
	}
}

static void forget_temporary(char *name)
{
	for (size_t i = 0; i < TEMPORARY_COUNT_MAX; i++) {
		char *expected = name;
		if (atomic_compare_exchange_strong(&temporary_names[i], &expected, NULL))
			return;
	}
}

void output_remove_temporary_files(void)
{
	for (size_t i = 0; i < TEMPORARY_COUNT_MAX; i++) {
		const char *name = atomic_load(&temporary_names[i]);
		if (name)
			unlink(name);
	}
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Returns the target's path with the variant and the run before its extension: profile.cpu.2.folded. run: 0: none. */
static char *path_of_variant(const struct output_target *target, const char *variant, uint32_t run)
{
	if (!variant && !run)
		return strdup(target->path);
	char safe[80], number[16] = "";
	size_t length = 0;
	for (; variant && variant[length] && length < 63; length++)
		safe[length] = variant[length] == '/' || (unsigned char)variant[length] <= ' ' ? '_' : variant[length];
	safe[length] = '\0';
	if (run)
		snprintf(number, sizeof number, "%s%" PRIu32, variant ? "." : "", run);
	strcat(safe, number);
	const char *dot = strrchr(file_of(target->path), '.');
	return dot && dot != file_of(target->path)
		       ? format_new("%.*s.%s%s", (int)(dot - target->path), target->path, safe, dot)
		       : format_new("%s.%s", target->path, safe);
}

/* The file of an earlier run is kept, unless it has been moved away. */
static char *path_of_file(const struct output_target *target, const char *variant)
{
	struct stat status;
	char *path = path_of_variant(target, variant, 0);
	if (!path || target->run <= 1 || lstat(path, &status))
		return path;
	free(path);
	return path_of_variant(target, variant, target->run);
}

/*
 * Creates a temporary file. Not with mkostemp(), which sets mode 0600: a profile has the user's usual permissions, and
 * reading the umask would change it for other threads. A private file is private from its creation.
 */
static int try_temporary(struct iaprof_output *output, const char *name)
{
	uint32_t random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	free(STEAL_POINTER(output->temporary));
	int folder_length = (int)(file_of(output->path) - output->path);
	output->temporary = format_new("%.*s.%s.%08" PRIx32, folder_length, output->path, name, random);
	if (!output->temporary)
		return -ENOMEM;
	output->stream.descriptor =
		openat(output->folder, file_of(output->temporary), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY,
		       output->target->is_private ? 0600 : 0666);
	return output->stream.descriptor < 0 ? -errno : 0;
}

/* Opens a non-regular file that exists under a variant's name, to write in place. */
static int open_object(struct iaprof_output *output, const struct output_path *found, struct error *error)
{
	CLEANUP_CLOSE int descriptor = output_path_open(found, output->path, error);
	if (descriptor < 0)
		return descriptor;
	int result = stream_open(&output->stream, descriptor);
	return result ? error_set(error, result, "output %s: %s", output->path, strerror(-result)) : 0;
}

static int open_file(struct iaprof_output *output, struct error *error)
{
	CLEANUP(output_path_release) struct output_path found = OUTPUT_PATH_INIT;
	int result = output_path_find(&found, output->path, error);
	if (result)
		return result;
	if (found.has_object)
		return open_object(output, &found, error);
	output->folder = STEAL_DESCRIPTOR(found.folder);
	output->is_regular = true;
	result = -EEXIST;
	for (int attempt = 0; result == -EEXIST && attempt < TEMPORARY_ATTEMPTS; attempt++)
		result = try_temporary(output, file_of(output->path));
	if (result) {
		free(STEAL_POINTER(output->temporary));
		int folder_length = (int)(file_of(output->path) - output->path);
		return error_set(error, result, "cannot create output %s: folder %.*s: %s", output->path,
				 folder_length > 1 ? folder_length - 1 : 1, folder_length ? output->path : ".",
				 strerror(-result));
	}
	remember_temporary(output->temporary);
	return 0;
}

/* Opens standard output, or the file that was opened before the run. */
static int open_stream(struct output_target *target, struct iaprof_output *output, const char *variant,
		       struct error *error)
{
	bool is_standard = is_standard_output(output->path);
	if (variant && target->opened_stream && output_target_is_stream(target))
		return error_set(
			error, EINVAL,
			"output %s: several value types cannot share %s (select one with value=, or set a file "
			"with -o)",
			output->path, is_standard ? "standard output" : "it");
	target->opened_stream = true;
	int result = stream_open(&output->stream, is_standard ? STDOUT_FILENO : target->descriptor);
	return result ? error_set(error, result, "output %s: %s", is_standard ? "standard output" : output->path,
				  strerror(-result))
		      : 0;
}

struct iaprof_output *output_open(struct output_target *target, const char *variant, uint32_t flags,
				  struct error *error)
{
	struct iaprof_output *output = malloc(sizeof *output);
	if (!output) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	bool is_file = !is_standard_output(target->path) && target->descriptor < 0;
	target->is_private |= (flags & IAPROF_OUTPUT_PRIVATE) != 0;
	output->stream = STREAM_INIT;
	output->target = target;
	output->folder = -1;
	output->temporary = NULL;
	output->is_regular = false;
	output->is_incremental = flags & IAPROF_OUTPUT_INCREMENTAL;
	output->used = 0;
	output->path = is_file ? path_of_file(target, variant) : strdup(target->path);
	int result = !output->path ? error_set(error, ENOMEM, "output %s: out of memory", target->path)
		     : is_file     ? open_file(output, error)
				   : open_stream(target, output, variant, error);
	if (!result)
		return output;
	output_discard(output);
	return NULL;
}

const char *output_name_shown(const struct iaprof_output *output)
{
	return output_path_shown(output->path);
}

static int write_all(struct iaprof_output *output, const char *data, size_t size, struct error *error)
{
	int result = output_stream_write(&output->stream, output->target, data, size);
	const char *name = output_name_shown(output);
	if (result == -ETIMEDOUT)
		return error_set(error, result, "cannot write to %s: its reader does not read (output truncated)",
				 name);
	return result ? error_set(error, result, "cannot write to %s: %s", name, strerror(-result)) : 0;
}

static int write_buffer(struct iaprof_output *output, struct error *error)
{
	size_t used = output->used;
	output->used = 0;
	return write_all(output, output->buffer, used, error);
}

int output_write(struct iaprof_output *output, const void *data, size_t size, struct error *error)
{
	if (size > sizeof output->buffer - output->used) {
		int result = write_buffer(output, error);
		if (result)
			return result;
		if (size >= sizeof output->buffer)
			return write_all(output, data, size, error);
	}
	memcpy(output->buffer + output->used, data, size);
	output->used += size;
	return 0;
}

int output_make_private(struct iaprof_output *output, struct error *error)
{
	if (!output->is_regular || !fchmod(output->stream.descriptor, 0600))
		return 0;
	return error_set(error, errno, "cannot change the mode of %s: %s", output->path, strerror(errno));
}

/* Frees the output and removes its temporary file if there is one. */
void output_discard(struct iaprof_output *output)
{
	if (!output)
		return;
	if (output->stream.descriptor >= 0)
		close(output->stream.descriptor);
	if (output->temporary) {
		unlinkat(output->folder, file_of(output->temporary), 0);
		forget_temporary(output->temporary);
	}
	if (output->folder >= 0)
		close(output->folder);
	free(output->temporary);
	free(output->path);
	free(output);
}

/* Renames the temporary file to the final name. */
static int rename_temporary(struct iaprof_output *output, struct error *error)
{
	if (!output->temporary)
		return 0;
	if (renameat(output->folder, file_of(output->temporary), output->folder, file_of(output->path)))
		return error_set(error, errno, "cannot rename the output to %s: %s", output->path, strerror(errno));
	forget_temporary(output->temporary);
	free(STEAL_POINTER(output->temporary));
	return 0;
}

int output_flush(struct iaprof_output *output, struct error *error)
{
	int result = write_buffer(output, error);
	return result || !output->is_incremental ? result : rename_temporary(output, error);
}

/* Notes the final name, which is freed with the target. */
static void note_written(struct iaprof_output *output)
{
	struct output_target *target = output->target;
	free(target->written);
	target->written = STEAL_POINTER(output->path);
	target->written_count++;
}

int output_close(struct iaprof_output *output, struct error *error)
{
	int result = write_buffer(output, error);
	/* Some file systems report write errors only on close. */
	if (!result && close(STEAL_DESCRIPTOR(output->stream.descriptor)))
		result = error_set(error, errno, "cannot write to %s: %s", output->path, strerror(errno));
	if (!result)
		result = rename_temporary(output, error);
	if (!result && output->is_regular)
		note_written(output);
	output_discard(output);
	return result;
}
