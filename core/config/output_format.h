/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of output files by the extensions of their names: the sink that writes each, and its key format. */
#pragma once

#include "config/configuration.h"

struct output_format {
	const char *extension; /* without the dot */
	const char *sink;
	const char *format; /* value of the sink's key format; NULL: it has no such key */
	const char *usage;  /* of --sink */
};

/* Returns the format with the longest extension that a file name ends in; NULL: none is known. */
const struct output_format *output_format_find(const char *path);
/* Returns the format with an extension, such as "svg"; NULL: none. */
const struct output_format *output_format_of_extension(const char *extension);

/*
 * Adds the sink that the name of --output states if the user named none, and sets the key format of sinks that write to
 * a file with an extension of a known format. A sink of iaprof that does not write that format is an error: -EINVAL.
 */
int output_formats_apply(struct configuration *configuration, struct error *error);
