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
#include "process/process_maps.h"
#include "ivpu.bpf.skel.h"

/* Limit on queued files; fewer libraries are mapped in one drain period. */
#define QUEUED_MAX 1024u
/* Limit on tables handled at once, so that a program that requests the table repeatedly delays only itself. */
#define TABLES_MAX 16u

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

static struct api_library *library_get(struct api_libraries *libraries, int descriptor, const struct stat *status)
{
	struct api_library *library = library_find(libraries, descriptor, status);

	return library ? library : library_add(libraries, descriptor, status);
}

static int library_attach(struct api_libraries *libraries, struct api_library *library, int descriptor,
			  uint32_t function, uint64_t offset)
{
	const struct ivpu_bpf *skeleton = libraries->skeleton;
	uint64_t cookie = IVPU_COOKIE(IVPU_API_FIRST + function, 0, IVPU_CONTEXT_NONE);

	if (library->entry[function])
		return 0;
	/* Returns are attached first, so that every call whose entry is traced also has its return traced. */
	if (!library->exit[function])
		library->exit[function] =
			bpf_uprobe_attach(skeleton->progs.api_return, true, cookie, descriptor, offset);
	if (!library->exit[function])
		return -errno;
	library->entry[function] = bpf_uprobe_attach(skeleton->progs.api_enter, false, cookie, descriptor, offset);
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
	library->graphs_return = bpf_uprobe_attach(skeleton->progs.graph_table_get, true, 0, descriptor, offset);
	if (library->graphs_return)
		library->graphs_call = bpf_uprobe_attach(skeleton->progs.graph_table_ask, false, 0, descriptor, offset);
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
	struct api_library *library = library_get(libraries, descriptor, status);
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
			result = library_attach(libraries, library, descriptor, i, offsets[i]);
	if (result == 0)
		result = graphs_attach(libraries, library, descriptor, &bytes);
	bpf_log_end(&log);
	return result;
}

static void queued_file_search(struct api_libraries *libraries, const struct queued_file *file)
{
	const struct iaprof_host *host = libraries->host;
	uint32_t functions = libraries->functions;
	struct stat status;
	const struct target_file_name name = {
		.pid = file->process, .start = file->start, .length = file->length, .path = file->path
	};
	int descriptor = broker_open_file(libraries->broker, &name, &status);
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

/* Finds the executable mapping that contains an address. The path points into the text. */
static bool executable_mapping_find(const char *text, size_t length, uint64_t address, struct process_mapping *mapping)
{
	while (process_mapping_next(&text, &length, mapping))
		if (mapping->executable && address >= mapping->start && address < mapping->end)
			return true;
	return false;
}

/* Returns whether a file is a Level Zero driver: a program can map any file under a driver's name. */
static bool file_is_driver(int descriptor, const struct stat *status)
{
	const struct elf_reader bytes = elf_reader_of_file(descriptor, (uint64_t)status->st_size);

	return exported_function_find(&bytes, "zeGetDriverProcAddrTable");
}

/* Returns 0 or the first error. */
static int graph_functions_attach(struct api_libraries *libraries, const struct ivpu_graph_table *table,
				  const struct process_mapping *mapping, int descriptor, const struct stat *status)
{
	struct api_library *library = library_get(libraries, descriptor, status);
	uint32_t length = graph_table_length(table, mapping->start, mapping->end);
	int result = 0;

	if (!library)
		return -E2BIG;
	for (size_t i = 0; i < api_function_count(); i++) {
		int member = api_function_graph_member(i);
		if (member < 0 || (uint32_t)member >= length)
			continue;
		uint64_t offset = table->functions[member] - mapping->start + mapping->file_offset;
		int one = graph_function_begins(descriptor, offset)
				  ? library_attach(libraries, library, descriptor, (uint32_t)i, offset)
				  : -ENOEXEC;
		result = result ? result : one;
	}
	return result;
}

/* Returns the offset of a table's function in the file, or 0 if it does not begin with ENDBR64. */
static uint64_t table_offset(const struct ivpu_graph_table *table, uint32_t function,
			     const struct process_mapping *mapping, int descriptor)
{
	uint64_t offset = table->functions[function] - mapping->start + mapping->file_offset;

	return graph_function_begins(descriptor, offset) ? offset : 0;
}

/* Returns 0 or a negative errno. */
static int layers_find(struct layers *layers, const struct ivpu_graph_table *table,
		       const struct process_mapping *mapping, int descriptor, const struct stat *status)
{
	if (graph_table_length(table, mapping->start, mapping->end) <= IVPU_PROFILING_GET_DATA)
		return 0;
	const struct layer_functions functions = {
		.pool_create = table_offset(table, IVPU_PROFILING_POOL_CREATE, mapping, descriptor),
		.query_create = table_offset(table, IVPU_PROFILING_QUERY_CREATE, mapping, descriptor),
		.get_data = table_offset(table, IVPU_PROFILING_GET_DATA, mapping, descriptor),
	};
	return functions.get_data ? layers_attach(layers, descriptor, status->st_dev, status->st_ino, &functions)
				  : -ENOEXEC;
}

/* Returns 0 even if there is nothing to attach to, or the first error. */
static int table_file_attach(struct api_libraries *libraries, const struct ivpu_graph_table *table,
			     const struct process_mapping *mapping)
{
	struct stat status;
	const struct target_file_name name = { .pid = table->process,
					       .start = mapping->start,
					       .length = mapping->end - mapping->start };
	int descriptor = broker_open_file(libraries->broker, &name, &status);
	int result = 0;

	if (descriptor < 0)
		return descriptor == -ESRCH ? 0 : descriptor;
	/* The mapping may have been replaced. */
	if (status.st_ino == mapping->inode && file_is_driver(descriptor, &status)) {
		struct bpf_log log = bpf_log_begin(libraries->host);
		result = table->kind == IVPU_TABLE_PROFILING
				 ? layers_find(libraries->layers, table, mapping, descriptor, &status)
				 : graph_functions_attach(libraries, table, mapping, descriptor, &status);
		bpf_log_end(&log);
	}
	close(descriptor);
	return result;
}

static void table_process(struct api_libraries *libraries, const struct ivpu_graph_table *table)
{
	const struct iaprof_host *host = libraries->host;
	uint32_t functions = libraries->functions;
	struct process_mapping mapping;
	size_t length = 0;
	char *text = broker_read_all(libraries->broker, table->process, BROKER_MAPS, &length);
	int result = text || errno == ENOENT || errno == ESRCH ? 0 : -errno;

	if (text && executable_mapping_find(text, length, table->functions[0], &mapping))
		result = table_file_attach(libraries, table, &mapping);
	free(text);
	if (libraries->functions > functions)
		host->log(host, IAPROF_LOG_INFO,
			  "attached to %" PRIu32 " graph functions from the table of process %" PRIu32,
			  libraries->functions - functions, table->process);
	if (result && !libraries->tables.warned)
		host->log(host, IAPROF_LOG_WARNING,
			  "cannot trace all graph functions, for example of process %" PRIu32 ": %s", table->process,
			  result == -ENOEXEC ? "no ENDBR64 at their start (-fcf-protection)" : strerror(-result));
	libraries->tables.warned |= result != 0;
}

/* A negative result ends ring_buffer__consume() after this table. */
static int table_take(void *context, void *data, size_t size)
{
	struct api_libraries *libraries = context;

	if (size < sizeof(struct ivpu_graph_table))
		return 0;
	table_process(libraries, data);
	return ++libraries->tables.taken == TABLES_MAX ? -EAGAIN : 0;
}

int api_libraries_begin(struct api_libraries *libraries, const struct iaprof_host *host, struct ivpu_bpf *skeleton,
			struct layers *layers)
{
	*libraries =
		(struct api_libraries){ .host = host, .skeleton = skeleton, .layers = layers, .broker = broker_new() };
	if (!libraries->broker)
		return host->fail(host, ENOMEM, "out of memory");
	int result = mapped_file_queue_init(&libraries->queue, QUEUED_MAX);
	if (result)
		return host->fail(host, result, "create an eventfd: %s", strerror(-result));
	libraries->tables.ring =
		ring_buffer__new(bpf_map__fd(skeleton->maps.graph_tables), table_take, libraries, NULL);
	return libraries->tables.ring ? 0
				      : host->fail(host, errno, "cannot map the BPF ring buffer: %s", strerror(errno));
}

static void queue_search(struct api_libraries *libraries)
{
	const struct iaprof_host *host = libraries->host;
	eventfd_t woken;

	if (eventfd_read(libraries->queue.wake, &woken))
		return;
	for (struct queued_file *file; (file = mapped_file_queue_take(&libraries->queue)); free(file))
		queued_file_search(libraries, file);
	uint64_t dropped = mapped_file_queue_dropped(&libraries->queue);
	if (dropped)
		host->lost(host, "libraries of Level Zero: no room to look into them", host->clock(host), dropped, 0,
			   0);
}

void api_libraries_search(struct api_libraries *libraries)
{
	if (!libraries->host)
		return;
	queue_search(libraries);
	libraries->tables.taken = 0;
	ring_buffer__consume(libraries->tables.ring);
}

int api_libraries_table_descriptor(const struct api_libraries *libraries)
{
	return libraries->tables.ring ? ring_buffer__epoll_fd(libraries->tables.ring) : -1;
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
	ring_buffer__free(libraries->tables.ring);
	mapped_file_queue_free(&libraries->queue);
	broker_free(libraries->broker);
	*libraries = (struct api_libraries){ 0 };
}

/* Limit on tables handled at once, so that a program that requests the table repeatedly delays only itself. */
#define TABLES_MAX 16u
