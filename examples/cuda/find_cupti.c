/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "find_cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport.h"

/* Opens a library and finds all functions in it. */
static bool open_cupti(struct cupti_functions *cupti, const char *path)
{
	static const char *const names[] = { CUPTI_FUNCTION_NAMES };
	struct cupti_functions found;
	void **functions = (void **)&found;
	_Static_assert(sizeof names / sizeof *names == sizeof *cupti / sizeof *functions, "a name for each");
	void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; opened && i < sizeof names / sizeof *names; i++)
		if (!(functions[i] = dlsym(opened, names[i]))) {
			dlclose(opened);
			return false;
		}
	if (opened)
		*cupti = found;
	return opened;
}

/* Copies the path of the first mapped file that contains a text. */
static bool find_mapped(const char *part, char *path, size_t size)
{
	char *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && getline(&line, &room, maps) > 0) {
		char *start = strchr(line, '/');
		if (!start || !strstr(start, part))
			continue;
		start[strcspn(start, "\n")] = '\0';
		found = snprintf(path, size, "%s", start) < (int)size;
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

bool cupti_find(struct cupti_functions *cupti, const char *stated)
{
	static const char *const of_packages[] = { "nvidia/cu13/lib/libcupti.so.13",
						   "nvidia/cuda_cupti/lib/libcupti.so.12" };
	static const char *const others[] = { "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
					      "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so", "libcupti.so.13",
					      "libcupti.so.12" };
	char path[PATH_MAX];
	const char *wanted = getenv(CUDA_CUPTI_VARIABLE);
	if ((wanted && *wanted) || *stated)
		return open_cupti(cupti, wanted && *wanted ? wanted : stated);
	if (find_mapped("/libcupti.so", path, sizeof path) && open_cupti(cupti, path))
		return true;
	if (find_mapped("/torch/lib/", path, sizeof path)) {
		char *end = strstr(path, "/torch/lib/") + 1;
		for (size_t i = 0; i < sizeof of_packages / sizeof *of_packages; i++) {
			snprintf(end, sizeof path - (size_t)(end - path), "%s", of_packages[i]);
			if (open_cupti(cupti, path))
				return true;
		}
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (open_cupti(cupti, others[i]))
			return true;
	return false;
}

const char *cupti_holder(void)
{
	static const char *const known[][2] = { { "libToolsInjection", "Nsight Systems" },
						{ "libcuda-injection", "Nsight Compute" },
						{ "libcuinj", "nvprof" },
						{ "libproton", "Triton's Proton" },
						{ "libparcagpu", "parcagpu" },
						{ "/torch/lib/", "PyTorch's profiler (Kineto)" } };
	char path[PATH_MAX];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (find_mapped(known[i][0], path, sizeof path))
			return known[i][1];
	return "another profiler";
}

struct cupti_range {
	uint64_t function, begin, end;
};

static int find_range(struct dl_phdr_info *image, size_t size, void *argument)
{
	struct cupti_range *range = argument;
	uint64_t begin = UINT64_MAX, end = 0;
	(void)size;
	for (size_t i = 0; i < image->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &image->dlpi_phdr[i];
		uint64_t start = image->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		begin = start < begin ? start : begin;
		end = start + segment->p_memsz > end ? start + segment->p_memsz : end;
	}
	if (range->function < begin || range->function >= end)
		return 0;
	range->begin = begin;
	range->end = end;
	return 1;
}

bool cupti_range(const struct cupti_functions *cupti, uint64_t *begin, uint64_t *end)
{
	struct cupti_range range = { .function = (uintptr_t)cupti->subscribe };
	bool found = dl_iterate_phdr(find_range, &range);
	*begin = range.begin;
	*end = range.end;
	return found;
}
