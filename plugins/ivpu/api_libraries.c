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
#include "exported_functions.h"
#include "support.h"
#include "ivpu.bpf.skel.h"

/* Beyond any number of libraries that are mapped within a turn. */
#define CANDIDATES_MAX 1024u

/* A mapped file that nobody has looked into yet. */
struct api_candidate {
	struct api_candidate *next;
	uint32_t process;
	uint64_t start, length;
	char path[];
};

int api_libraries_begin(struct api_libraries *libraries, const struct iaprof_host *host, struct ivpu_bpf *skeleton)
{
	*libraries = (struct api_libraries){ .host = host, .skeleton = skeleton };
	pthread_mutex_init(&libraries->lock, NULL);
	libraries->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return libraries->wake < 0 ? host->fail(host, errno, "make an eventfd: %s", strerror(errno)) : 0;
}

/* Puts a candidate behind the others, or counts it as dropped when there is no room or none (NULL). */
static bool candidate_put(struct api_libraries *libraries, struct api_candidate *candidate)
{
	pthread_mutex_lock(&libraries->lock);
	bool room = candidate && libraries->candidate_count < CANDIDATES_MAX;
	if (room) {
		if (libraries->last)
			libraries->last->next = candidate;
		else
			libraries->first = candidate;
		libraries->last = candidate;
		libraries->candidate_count++;
	} else {
		libraries->dropped++;
	}
	pthread_mutex_unlock(&libraries->lock);
	return room;
}

void api_libraries_add(struct api_libraries *libraries, const struct iaprof_mapped_file *file)
{
	if (!api_library_is(file->path))
		return;
	size_t size = strlen(file->path) + 1;
	struct api_candidate *candidate = malloc(sizeof *candidate + size);
	if (candidate) {
		*candidate =
			(struct api_candidate){ .process = file->pid, .start = file->start, .length = file->length };
		memcpy(candidate->path, file->path, size);
	}
	if (!candidate_put(libraries, candidate))
		free(candidate);
	eventfd_write(libraries->wake, 1);
}

static struct api_candidate *candidate_take(struct api_libraries *libraries)
{
	pthread_mutex_lock(&libraries->lock);
	struct api_candidate *candidate = libraries->first;
	if (candidate) {
		libraries->first = candidate->next;
		if (!libraries->first)
			libraries->last = NULL;
		libraries->candidate_count--;
	}
	pthread_mutex_unlock(&libraries->lock);
	return candidate;
}

/* The file below an overlay is what is attached to, once for all overlays. */
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
					     "more than %u libraries of Level Zero: calls of others are not seen",
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
	/* The file that was looked into, whatever its path is by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	return bpf_program__attach_uprobe_opts(program, -1, path, offset, &options);
}

int api_library_attach(struct api_libraries *libraries, struct api_library *library, int descriptor, uint32_t function,
		       uint64_t offset)
{
	const struct ivpu_bpf *skeleton = libraries->skeleton;
	uint64_t cookie = IVPU_COOKIE(IVPU_API_FIRST + function, 0);

	if (library->enter[function])
		return 0;
	/* The return first: a call that is seen to begin is seen to end. */
	if (!library->leave[function])
		library->leave[function] = link_make(skeleton->progs.api_return, true, cookie, descriptor, offset);
	if (!library->leave[function])
		return -errno;
	library->enter[function] = link_make(skeleton->progs.api_enter, false, cookie, descriptor, offset);
	if (!library->enter[function])
		return -errno;
	libraries->functions++;
	return 0;
}

/* To see who asks for the functions of graphs. */
static int graphs_attach(struct api_libraries *libraries, struct api_library *library, int descriptor,
			 const struct elf_bytes *bytes)
{
	const struct ivpu_bpf *skeleton = libraries->skeleton;
	uint64_t offset = exported_function_find(bytes, API_GRAPH_TABLE_FUNCTION);

	if (!offset)
		return 0;
	library->graphs_get = link_make(skeleton->progs.graph_table_get, true, 0, descriptor, offset);
	if (library->graphs_get)
		library->graphs_ask = link_make(skeleton->progs.graph_table_ask, false, 0, descriptor, offset);
	return library->graphs_ask ? 0 : -errno;
}

/* Returns 0, also when there is nothing to attach to, or a negative errno. What was attached to stays so: calls whose
 * return is not seen are not counted. */
static int file_attach(struct api_libraries *libraries, int descriptor, const struct stat *status)
{
	const struct elf_bytes bytes = elf_bytes_of_file(descriptor, (uint64_t)status->st_size);
	uint64_t offsets[IVPU_API_FUNCTIONS_MAX];
	struct api_library *library = api_libraries_get(libraries, descriptor, status);
	int result = 0;

	/* What cannot be attached to is not tried again. */
	if (!library || library->looked_into)
		return 0;
	library->looked_into = true;
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

static void candidate_look(struct api_libraries *libraries, const struct api_candidate *candidate)
{
	const struct iaprof_host *host = libraries->host;
	uint32_t functions = libraries->functions;
	struct stat status;
	int descriptor = process_file_open_mapped(candidate->process, candidate->start, candidate->length, &status);

	if (descriptor < 0)
		descriptor = process_file_open(candidate->process, candidate->path, &status);
	if (descriptor < 0) /* the process or the file is gone, or it is no file */
		return;
	int result = file_attach(libraries, descriptor, &status);
	close(descriptor);
	if (result)
		host->log(host, IAPROF_LOG_WARNING,
			  "calls of Level Zero by way of %s of process %" PRIu32 " are not seen: attach to its "
			  "functions: %s",
			  candidate->path, candidate->process, strerror(-result));
	else if (libraries->functions > functions)
		host->log(host, IAPROF_LOG_INFO, "%" PRIu32 " functions of %s of process %" PRIu32 " attached",
			  libraries->functions - functions, candidate->path, candidate->process);
}

static void dropped_tell(struct api_libraries *libraries)
{
	const struct iaprof_host *host = libraries->host;

	pthread_mutex_lock(&libraries->lock);
	uint64_t dropped = libraries->dropped;
	libraries->dropped = 0;
	pthread_mutex_unlock(&libraries->lock);
	if (dropped)
		host->lost(host, "libraries of Level Zero: no room to look into them", host->clock(host), dropped, 0,
			   0);
}

void api_libraries_look(struct api_libraries *libraries)
{
	eventfd_t woken;

	if (!libraries->host || eventfd_read(libraries->wake, &woken))
		return;
	for (struct api_candidate *candidate; (candidate = candidate_take(libraries)); free(candidate))
		candidate_look(libraries, candidate);
	dropped_tell(libraries);
}

void api_libraries_detach(struct api_libraries *libraries)
{
	/* Returns last. */
	for (uint32_t i = 0; i < libraries->count; i++) {
		struct api_library *library = &libraries->items[i];
		for (uint32_t j = 0; j < IVPU_API_FUNCTIONS_MAX; j++)
			bpf_link__destroy(library->enter[j]);
		for (uint32_t j = 0; j < IVPU_API_FUNCTIONS_MAX; j++)
			bpf_link__destroy(library->leave[j]);
		bpf_link__destroy(library->graphs_ask);
		bpf_link__destroy(library->graphs_get);
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
	for (struct api_candidate *candidate; (candidate = candidate_take(libraries));)
		free(candidate);
	if (libraries->wake >= 0)
		close(libraries->wake);
	pthread_mutex_destroy(&libraries->lock);
	*libraries = (struct api_libraries){ 0 };
}
