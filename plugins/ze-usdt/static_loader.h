/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises programs with a copy of the Level Zero loader that cannot be traced, by their file. Pure; any thread. */
#pragma once

#include <stddef.h>
#include "elf/elf_reader.h"

/*
 * Returns whether a file contains, linked statically, a Level Zero loader of the versions 1.21.1 to 1.21.8, which calls
 * the driver without the tracing layer unless ZE_ENABLE_TRACING_LAYER=1 is set. It is recognised by the messages and
 * names that its source files contain, not by symbols, so stripped files are recognised, too. Not recognised: files
 * without section headers, or packed ones.
 */
bool static_loader_is_untraced(const struct elf_reader *bytes);

/* Returns whether /proc/PID/environ has the loader's tracing layer enabled from the start. Pure. */
bool environment_has_tracing_layer(const char *text, size_t length);
