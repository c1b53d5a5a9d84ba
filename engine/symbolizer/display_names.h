/* SPDX-License-Identifier: Apache-2.0 */
/* Display names of functions, computed once per function because many addresses share one. */
#pragma once

#include "base/string_table.h"

struct decoder;
struct display_name;

/* Initialise with {0}, then set strings, the table that owns display names, and decoder. */
struct display_names {
	struct string_table *strings;
	struct decoder *decoder;     /* may define display names for device code; NULL if none */
	struct display_name *newest; /* by a hash of the name's address */
};

/*
 * Returns the demangled name of a function, or the name itself if it is not mangled, as displayed by the decoder; NULL
 * when out of memory. The cache compares addresses of names, so each name must stay valid and unchanged as long as
 * display_names.
 */
const char *display_names_get(struct display_names *names, const char *name);
void display_names_free(struct display_names *names);
