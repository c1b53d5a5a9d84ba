/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_functions.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "api_functions.h"
#include "exported_functions.h"
#include "graph_functions.h"
#include "graph_table.h"
#include "support.h"
#include "ze-usdt/inject/process_maps.h"
#include "ivpu.bpf.skel.h"

/* The most tables that are looked at before something else has its turn: who asks again and again only delays itself.
 */
#define TAKEN_MAX 16u

/* The mapping of code that an address is in; false: there is none. The path points into the text. */
static bool mapping_find(const char *text, size_t length, uint64_t address, struct process_mapping *mapping)
{
	while (process_mapping_next(&text, &length, mapping))
		if (mapping->executable && address >= mapping->start && address < mapping->end)
			return true;
	return false;
}

/* Whether a file is a driver of Level Zero: anything can be mapped under a driver's name. */
static bool is_driver(int descriptor, const struct stat *status)
{
	const struct elf_bytes bytes = elf_bytes_of_file(descriptor, (uint64_t)status->st_size);

	return exported_function_find(&bytes, "zeGetDriverProcAddrTable");
}

/* Returns 0 or the first reason why something was not attached to. */
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

/* Returns 0, also when there is nothing to attach to, or why not all was. */
static int file_attach(struct api_libraries *libraries, const struct ivpu_graph_table *table,
		       const struct process_mapping *mapping)
{
	struct stat status;
	int descriptor =
		process_file_open_mapped(table->process, mapping->start, mapping->end - mapping->start, &status);
	int result = 0;

	if (descriptor < 0)
		return descriptor == -ESRCH ? 0 : descriptor;
	/* The mapping may be another one by now. */
	if (status.st_ino == mapping->inode && is_driver(descriptor, &status)) {
		struct bpf_log log = bpf_log_begin(libraries->host);
		result = functions_attach(libraries, table, mapping, descriptor, &status);
		bpf_log_end(&log);
	}
	close(descriptor);
	return result;
}

static void table_look(struct graph_functions *graphs, const struct ivpu_graph_table *table)
{
	struct api_libraries *libraries = graphs->libraries;
	const struct iaprof_host *host = libraries->host;
	uint32_t functions = libraries->functions;
	struct process_mapping mapping;
	size_t length = 0;
	char *text = process_file_read((pid_t)table->process, "maps", &length);
	int result = text || errno == ENOENT || errno == ESRCH ? 0 : -errno;

	if (text && mapping_find(text, length, table->functions[0], &mapping))
		result = file_attach(libraries, table, &mapping);
	free(text);
	if (libraries->functions > functions)
		host->log(host, IAPROF_LOG_INFO,
			  "%" PRIu32 " functions of graphs, of the table of process %" PRIu32 ", attached",
			  libraries->functions - functions, table->process);
	if (result && !graphs->warned)
		host->log(host, IAPROF_LOG_WARNING,
			  "not all functions of graphs are seen, of process %" PRIu32 " for one: attach to them: %s",
			  table->process,
			  result == -ENOEXEC ? "they do not begin with ENDBR64 (-fcf-protection)" : strerror(-result));
	graphs->warned |= result != 0;
}

/* A negative result ends ring_buffer__consume() after this table. */
static int table_take(void *context, void *data, size_t size)
{
	struct graph_functions *graphs = context;

	if (size < sizeof(struct ivpu_graph_table))
		return 0;
	table_look(graphs, data);
	return ++graphs->taken == TAKEN_MAX ? -EAGAIN : 0;
}

int graph_functions_begin(struct graph_functions *graphs, struct api_libraries *libraries)
{
	const struct iaprof_host *host = libraries->host;

	graphs->libraries = libraries;
	graphs->ring = ring_buffer__new(bpf_map__fd(libraries->skeleton->maps.graph_tables), table_take, graphs, NULL);
	return graphs->ring ? 0 : host->fail(host, errno, "map the BPF programs' ring buffer: %s", strerror(errno));
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

void graph_functions_look(struct graph_functions *graphs)
{
	graphs->taken = 0;
	if (graphs->ring)
		ring_buffer__consume(graphs->ring);
}
