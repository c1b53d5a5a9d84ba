/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions as they are shown. Many addresses are of one function: its shown name is made once. */
#ifndef IAPROF_CORE_SYMBOLIZER_SHOWN_NAMES_H
#define IAPROF_CORE_SYMBOLIZER_SHOWN_NAMES_H

#include "base/string_table.h"

struct shown_name;

/* Set strings to where the shown names go, which then belong to that table; the rest to 0. */
struct shown_names {
	struct string_table *strings;
	struct shown_name *newest; /* by a hash of the name's address */
};

/*
 * The demangled form of a function's name, or the name itself where it is not mangled; the type alone for
 * a SYCL kernel. NULL: out of memory. The name
 * is known again by its address, so it must stay where it is as long as shown_names does.
 */
const char *shown_names_get(struct shown_names *names, const char *name);
void shown_names_free(struct shown_names *names);

#endif
