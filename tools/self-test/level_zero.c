/* SPDX-License-Identifier: Apache-2.0 */
/* See level_zero.h. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#include "level_zero.h"

bool level_zero_open(struct level_zero *calls)
{
	void *library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return false;
	}
#define LOAD(name)                                                                                                     \
	*(void **)&calls->name = dlsym(library, #name);                                                                \
	if (!calls->name) {                                                                                            \
		fprintf(stderr, "the Level Zero loader has no " #name " (requires 1.6 or newer)\n");                   \
		return false;                                                                                          \
	}
	LEVEL_ZERO_FUNCTIONS(LOAD)
	LOAD(zeCommandListHostSynchronize)
#undef LOAD
	return true;
}
