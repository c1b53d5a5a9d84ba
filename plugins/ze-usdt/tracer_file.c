/* SPDX-License-Identifier: Apache-2.0 */
/* See tracer_file.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probes.h"
#include "tracer_file.h"

int tracer_file_find(char *path, size_t size)
{
	/* Beside the plugin where it is installed, in a folder of its own where it was built. */
	static const char *const places[] = { "", "tracer/" };
	Dl_info plugin;

	if (!dladdr((void *)(uintptr_t)tracer_file_find, &plugin) || !plugin.dli_fname)
		return -ENOENT;
	char *file = realpath(plugin.dli_fname, NULL);
	if (!file)
		return -ENOENT;
	int folder = (int)(strrchr(file, '/') + 1 - file);
	int result = -ENOENT;
	for (size_t i = 0; i < sizeof places / sizeof places[0] && result; i++) {
		int length = snprintf(path, size, "%.*s%s%s", folder, file, places[i], ZE_TRACER_FILE);
		if (length > 0 && (size_t)length < size && access(path, R_OK) == 0)
			result = 0;
	}
	free(file);
	return result;
}
