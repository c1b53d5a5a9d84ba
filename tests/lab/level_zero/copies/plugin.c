/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked to a loader of its own, as those in Python packages are. */
#include "copies.h"

#ifdef STUB
/* What the linker needs of a loader. */
#define EMPTY(name)                                                                                                    \
	__attribute__((visibility("default"))) void stub_##name(void) __asm__(#name);                                  \
	void stub_##name(void)                                                                                         \
	{                                                                                                              \
	}
COPY_FUNCTIONS(EMPTY)
#else
__attribute__((visibility("default"))) void plugin_open(struct copy *copy, const char *module_path,
							const char *kernel_name)
{
#define LINKED(name) copy->name = name;
	COPY_FUNCTIONS(LINKED)
#undef LINKED
	copy_begin(copy, module_path, kernel_name);
}
#endif
