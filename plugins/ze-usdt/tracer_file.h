/* SPDX-License-Identifier: Apache-2.0 */
/* Where our tracer library is. */
#ifndef IAPROF_ZE_USDT_TRACER_FILE_H
#define IAPROF_ZE_USDT_TRACER_FILE_H

#include <stddef.h>

/* The path of ZE_TRACER_FILE beside this plugin. Returns 0, or -ENOENT when there is none. */
int tracer_file_find(char *path, size_t size);

#endif
