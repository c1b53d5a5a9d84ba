/* SPDX-License-Identifier: Apache-2.0 */
/* See api_functions.h. */
#include <string.h>
#include <unistd.h>
#include "api_functions.h"

/*
 * Functions that submit work or wait for it, from ze_api.h and ze_graph_ext.h. Those that a library does not export are
 * skipped. Graph functions are pointers in a table: pfnCreate2 is the driver's zeGraphCreate2, and so on.
 */
static const char *const names[] = {
	"zeInit",
	"zeContextCreate",
	"zeMemAllocHost",
	"zeMemAllocDevice",
	"zeMemAllocShared",
	"zeMemFree",
	"zeCommandQueueCreate",
	"zeCommandListCreate",
	"zeCommandListCreateImmediate",
	"zeCommandQueueExecuteCommandLists",
	"zeCommandQueueSynchronize",
	"zeFenceHostSynchronize",
	"zeEventHostSynchronize",
	"zeGraphCreate",
	"zeGraphDestroy",
	"zeAppendGraphInitialize",
	"zeAppendGraphExecute",
	"zeGraphGetNativeBinary",
	"zeGraphQueryNetworkCreate",
	"zeGraphCreate2",
	"zeGraphQueryNetworkCreate2",
	"zeGraphGetNativeBinary2",
	"zeGraphInitialize",
};

/* Index in the table, in the order of names. */
#define GRAPH_FIRST 13u
static const signed char graph_members[] = { 0, 1, 5, 6, 7, 12, 16, 17, 20, 22 };
_Static_assert(sizeof names / sizeof *names == GRAPH_FIRST + sizeof graph_members, "each function has its position");

const char *const *api_function_names(void)
{
	return names;
}

const char *api_function_name(size_t number)
{
	return number < sizeof names / sizeof *names ? names[number] : NULL;
}

size_t api_function_count(void)
{
	return sizeof names / sizeof *names;
}

int api_function_graph_member(size_t number)
{
	return number >= GRAPH_FIRST && number < api_function_count() ? graph_members[number - GRAPH_FIRST] : -1;
}

bool api_library_is(const char *path)
{
	/* The loader, and the NPU's user-space driver under its current name and its name before 2024. */
	static const char *const libraries[] = { "libze_loader.so.1", "libze_intel_npu.so", "libze_intel_vpu.so" };
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
		size_t length = strlen(libraries[i]);
		if (!strncmp(name, libraries[i], length) && (!name[length] || strchr(". ", name[length])))
			return true;
	}
	return false;
}

uint32_t graph_table_length(const struct ivpu_graph_table *table, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < IVPU_GRAPH_FUNCTIONS; i++) {
		if (table->functions[i] < start || table->functions[i] >= end)
			return i;
		for (uint32_t j = 0; j < i; j++)
			if (table->functions[j] == table->functions[i])
				return i;
	}
	return IVPU_GRAPH_FUNCTIONS;
}

bool graph_function_begins(int descriptor, uint64_t offset)
{
	static const unsigned char wanted[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char bytes[sizeof wanted];

	return offset <= INT64_MAX && pread(descriptor, bytes, sizeof bytes, (off_t)offset) == (ssize_t)sizeof bytes &&
	       memcmp(bytes, wanted, sizeof wanted) == 0;
}
