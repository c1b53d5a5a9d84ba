/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _exit() of plugins: overrides that of the C library in a program that loads plugins, because the dynamic linker
 * searches the program first. A direct system call of a plugin is not detected.
 */
#include "base/sanitizer.h"
#include "plugin/plugin_call.h"

#if !HAS_SANITIZER
__attribute__((visibility("default"))) void _exit(int status)
{
	plugin_call_exit(status);
}

__attribute__((visibility("default"))) void _Exit(int status)
{
	plugin_call_exit(status);
}
#endif
