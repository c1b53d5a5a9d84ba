/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_functions.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "api_functions.h"
#include "elf/exported_functions.h"
#include "graph_functions.h"
#include "graph_table.h"
#include "bpf/support.h"
#include "process/process_maps.h"
#include "ivpu.bpf.skel.h"

/* Limit on tables handled at once, so that a program that requests the table repeatedly delays only itself. */
#define TAKEN_MAX 16u

/* Finds the executable mapping that contains an address. The path points into the text. */
static bool mapping_find(const char *text, size_t length, uint64_t address, struct process_mapping *mapping)
{
	while (process_mapping_next(&text, &length, mapping))
		if (mapping->executable && address >= mapping->start && address < mapping->end)
			return true;
	return false;
}

/* Returns whether a file is a Level Zero driver: a program can map any file under a driver's name. */
static bool is_driver(int descriptor, const struct stat *status)
{
	const struct elf_reader bytes = elf_reader_of_file(descriptor, (uint64_t)status->st_size);

	return exported_function_find(&bytes, "zeGetDriverProcAddrTable");
}

/* Returns 0 or the first error. */
static int functions_attach(struct api_libraries *libraries, const struct ivpu_graph_table *table,
			    const struct process_mapping *mapping, int descriptor, const struct stat *status)
{
	struct api_library *library = api_libraries_get(libraries, descriptor, status);
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
				  ? api_library_attach(libraries, library, descriptor, (uint32_t)i, offset)
				  : -ENOEXEC;
		result = result ? result : one;
	}
	return result;
}

/* Returns the offset of a table's function in the file, or 0 if it does not begin with ENDBR64. */
static uint64_t offset_of(const struct ivpu_graph_table *table, uint32_t function,
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
		.pool_create = offset_of(table, IVPU_PROFILING_POOL_CREATE, mapping, descriptor),
		.query_create = offset_of(table, IVPU_PROFILING_QUERY_CREATE, mapping, descriptor),
		.get_data = offset_of(table, IVPU_PROFILING_GET_DATA, mapping, descriptor),
	};
	return functions.get_data ? layers_attach(layers, descriptor, status->st_dev, status->st_ino, &functions)
				  : -ENOEXEC;
}

/* Returns 0 even if there is nothing to attach to, or the first error. */
static int file_attach(const struct graph_functions *graphs, const struct ivpu_graph_table *table,
		       const struct process_mapping *mapping)
{
	struct api_libraries *libraries = graphs->libraries;
	struct stat status;
	int descriptor =
		process_file_open_mapped(table->process, mapping->start, mapping->end - mapping->start, &status);
	int result = 0;

	if (descriptor < 0)
		return descriptor == -ESRCH ? 0 : descriptor;
	/* The mapping may have been replaced. */
	if (status.st_ino == mapping->inode && is_driver(descriptor, &status)) {
		struct bpf_log log = bpf_log_begin(libraries->host);
		result = table->kind == IVPU_TABLE_PROFILING
				 ? layers_find(graphs->layers, table, mapping, descriptor, &status)
				 : functions_attach(libraries, table, mapping, descriptor, &status);
		bpf_log_end(&log);
	}
	close(descriptor);
	return result;
}

static void table_process(struct graph_functions *graphs, const struct ivpu_graph_table *table)
{
	struct api_libraries *libraries = graphs->libraries;
	const struct iaprof_host *host = libraries->host;
	uint32_t functions = libraries->functions;
	struct process_mapping mapping;
	size_t length = 0;
	char *text = process_file_read((pid_t)table->process, "maps", &length);
	int result = text || errno == ENOENT || errno == ESRCH ? 0 : -errno;

	if (text && mapping_find(text, length, table->functions[0], &mapping))
		result = file_attach(graphs, table, &mapping);
	free(text);
	if (libraries->functions > functions)
		host->log(host, IAPROF_LOG_INFO,
			  "attached to %" PRIu32 " graph functions from the table of process %" PRIu32,
			  libraries->functions - functions, table->process);
	if (result && !graphs->warned)
		host->log(host, IAPROF_LOG_WARNING,
			  "cannot trace all graph functions, for example of process %" PRIu32 ": %s", table->process,
			  result == -ENOEXEC ? "no ENDBR64 at their start (-fcf-protection)" : strerror(-result));
	graphs->warned |= result != 0;
}

/* A negative result ends ring_buffer__consume() after this table. */
static int table_take(void *context, void *data, size_t size)
{
	struct graph_functions *graphs = context;

	if (size < sizeof(struct ivpu_graph_table))
		return 0;
	table_process(graphs, data);
	return ++graphs->taken == TAKEN_MAX ? -EAGAIN : 0;
}

int graph_functions_begin(struct graph_functions *graphs, struct api_libraries *libraries, struct layers *layers)
{
	const struct iaprof_host *host = libraries->host;

	graphs->libraries = libraries;
	graphs->layers = layers;
	graphs->ring = ring_buffer__new(bpf_map__fd(libraries->skeleton->maps.graph_tables), table_take, graphs, NULL);
	return graphs->ring ? 0 : host->fail(host, errno, "cannot map the BPF ring buffer: %s", strerror(errno));
}

void graph_functions_free(struct graph_functions *graphs)
{
	ring_buffer__free(graphs->ring);
	*graphs = (struct graph_functions){ 0 };
}

int graph_functions_descriptor(const struct graph_functions *graphs)
{
	return graphs->ring ? ring_buffer__epoll_fd(graphs->ring) : -1;
}

void graph_functions_search(struct graph_functions *graphs)
{
	graphs->taken = 0;
	if (graphs->ring)
		ring_buffer__consume(graphs->ring);
}
