/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads zebin, the ELF image format of Level Zero and OpenCL programs: Intel's "zebin" specification in
 * documentation/zebin of the graphics compiler defines the names of sections and the types of relocations.
 */
#pragma once

#include <iaprof/image.h>

#define ZEBIN_RELOCATION_COUNT 3
extern const struct iaprof_relocation zebin_relocations[ZEBIN_RELOCATION_COUNT];

/* Implement image_read() and display_name() of the plugin interface. */
int zebin_read(const struct iaprof_image *image, const struct iaprof_image_report *report);
size_t zebin_display_name(const char *name, char *text, size_t capacity);
