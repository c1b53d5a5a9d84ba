/* SPDX-License-Identifier: Apache-2.0 */
/* See api_libraries.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "api_functions.h"
#include "api_libraries.h"
#include "elf/exported_functions.h"
#include "bpf/support.h"
#include "ivpu.bpf.skel.h"

/* Limit on queued files; fewer libraries are mapped in one drain period. */
#define QUEUED_MAX 1024u

int api_libraries_begin(struct api_libraries *libraries, const struct iaprof_host *host, struct ivpu_bpf *skeleton)
{
	*libraries = (struct api_libraries){ .host = host, .skeleton = skeleton };
	int result = mapped_file_queue_init(&libraries->queue, QUEUED_MAX);
	return result ? host->fail(host, result, "create an eventfd: %s", strerror(-result)) : 0;
}

void api_libraries_add(struct api_libraries *libraries, const struct iaprof_mapped_file *file)
{
	if (api_library_is(file->path))
		mapped_file_queue_add(&libraries->queue, file);
}

/* Containers share the file below an overlay: it is attached to only once. */
static struct api_library *library_find(struct api_libraries *libraries, int descriptor, const struct stat *status)
{
	for (uint32_t i = 0; i < libraries->count; i++)
		if (process_file_is(&libraries->items[i].file, descriptor, status))
			return &libraries->items[i];
	return NULL;
}

static struct api_library *library_add(struct api_libraries *libraries, int descriptor, const struct stat *status)
{
	if (libraries->count == API_LIBRARIES_MAX) {
		if (!libraries->warned)
			libraries->host->log(libraries->host, IAPROF_LOG_WARNING,
					     "more than %u Level Zero libraries: calls in the others are not traced",
					     API_LIBRARIES_MAX);
		libraries->warned = true;
		return NULL;
	}
	struct api_library *library = &libraries->items[libraries->count++];
	*library = (struct api_library){ .file = { .descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0),
						   .status = *status } };
	return library;
}

struct api_library *api_libraries_get(struct api_libraries *libraries, int descriptor, const struct stat *status)
{
	struct api_library *library = library_find(libraries, descriptor, status);

	return library ? library : library_add(libraries, descriptor, status);
}

static struct bpf_link *link_make(struct bpf_program *program, bool is_return, uint64_t cookie, int descriptor,
				  uint64_t offset)
{
	const struct bpf_uprobe_opts options = {
		.sz = sizeof options,
		.bpf_cookie = cookie,
		.retprobe = is_return,
	};
	char path[64];
	/* Opens the parsed file itself, because its path may refer to another file by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	return bpf_program__attach_uprobe_opts(program, -1, path, offset, &options);
}

int api_library_attach(struct api_libraries *libraries, struct api_library *library, int descriptor, uint32_t function,
		       uint64_t offset)
{
	const struct ivpu_bpf *skeleton = libraries->skeleton;
	uint64_t cookie = IVPU_COOKIE(IVPU_API_FIRST + function, 0, IVPU_CONTEXT_NONE);

	if (library->entry[function])
		return 0;
	/* Returns are attached first, so that every call whose entry is traced also has its return traced. */
	if (!library->exit[function])
		library->exit[function] = link_make(skeleton->progs.api_return, true, cookie, descriptor, offset);
	if (!library->exit[function])
		return -errno;
	library->entry[function] = link_make(skeleton->progs.api_enter, false, cookie, descriptor, offset);
	if (!library->entry[function])
		return -errno;
	libraries->functions++;
	return 0;
}

/* Traces requests of the table of graph functions. */
static int graphs_attach(struct api_libraries *libraries, struct api_library *library, int descriptor,
			 const struct elf_reader *bytes)
{
	const struct ivpu_bpf *skeleton = libraries->skeleton;
	uint64_t offset = exported_function_find(bytes, API_GRAPH_TABLE_FUNCTION);

	if (!offset)
		return 0;
	library->graphs_return = link_make(skeleton->progs.graph_table_get, true, 0, descriptor, offset);
	if (library->graphs_return)
		library->graphs_call = link_make(skeleton->progs.graph_table_ask, false, 0, descriptor, offset);
	return library->graphs_call ? 0 : -errno;
}

/*
 * Returns 0 even if there is nothing to attach to, or a negative errno. Probes already attached stay: calls whose
 * return is not traced are not counted.
 */
static int file_attach(struct api_libraries *libraries, int descriptor, const struct stat *status)
{
	const struct elf_reader bytes = elf_reader_of_file(descriptor, (uint64_t)status->st_size);
	uint64_t offsets[IVPU_API_FUNCTIONS_MAX];
	struct api_library *library = api_libraries_get(libraries, descriptor, status);
	int result = 0;

	/* A file that failed is not retried. */
	if (!library || library->searched)
		return 0;
	library->searched = true;
	if (!exported_functions_find(&bytes, api_function_names(), api_function_count(), offsets))
		return -ENOEXEC;
	struct bpf_log log = bpf_log_begin(libraries->host);
	for (uint32_t i = 0; i < api_function_count() && result == 0; i++)
		if (offsets[i])
			result = api_library_attach(libraries, library, descriptor, i, offsets[i]);
	if (result == 0)
		result = graphs_attach(libraries, library, descriptor, &bytes);
	bpf_log_end(&log);
	return result;
}

static void file_search(struct api_libraries *libraries, const struct queued_file *file)
{
	const struct iaprof_host *host = libraries->host;
	uint32_t functions = libraries->functions;
	struct stat status;
	int descriptor = queued_file_open(file, &status);
	if (descriptor < 0) /* the process or the file is gone, or it is not a regular file */
		return;
	int result = file_attach(libraries, descriptor, &status);
	close(descriptor);
	if (result)
		host->log(host, IAPROF_LOG_WARNING, "cannot trace Level Zero calls in %s of process %" PRIu32 ": %s",
			  file->path, file->process, strerror(-result));
	else if (libraries->functions > functions)
		host->log(host, IAPROF_LOG_INFO, "attached to %" PRIu32 " functions of %s in process %" PRIu32,
			  libraries->functions - functions, file->path, file->process);
}

void api_libraries_search(struct api_libraries *libraries)
{
	eventfd_t woken;

	const struct iaprof_host *host = libraries->host;
	if (!host || eventfd_read(libraries->queue.wake, &woken))
		return;
	for (struct queued_file *file; (file = mapped_file_queue_take(&libraries->queue)); free(file))
		file_search(libraries, file);
	uint64_t dropped = mapped_file_queue_dropped(&libraries->queue);
	if (dropped)
		host->lost(host, "libraries of Level Zero: no room to look into them", host->clock(host), dropped, 0,
			   0);
}

void api_libraries_detach(struct api_libraries *libraries)
{
	/* Returns are detached last. */
	for (uint32_t i = 0; i < libraries->count; i++) {
		struct api_library *library = &libraries->items[i];
		for (uint32_t j = 0; j < IVPU_API_FUNCTIONS_MAX; j++)
			bpf_link__destroy(library->entry[j]);
		for (uint32_t j = 0; j < IVPU_API_FUNCTIONS_MAX; j++)
			bpf_link__destroy(library->exit[j]);
		bpf_link__destroy(library->graphs_call);
		bpf_link__destroy(library->graphs_return);
		if (library->file.descriptor >= 0)
			close(library->file.descriptor);
	}
	libraries->count = 0;
}

void api_libraries_free(struct api_libraries *libraries)
{
	if (!libraries->host)
		return;
	api_libraries_detach(libraries);
	mapped_file_queue_free(&libraries->queue);
	*libraries = (struct api_libraries){ 0 };
}
