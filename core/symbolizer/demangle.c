/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangling with libiberty's cp-demangle and rust-demangle: see demangle.h. Both may be linked into programs of any
 * licence (the exception in libiberty/demangle.h); the rest of libiberty, parts of which are GPL, is not linked.
 */
#include "symbolizer/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>
#ifdef HAVE_LIBIBERTY_FOLDER
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

/*
 * libiberty's own limit (1,024) is too short for templates of numeric libraries. Its work space on the stack grows with
 * the length: 4,096 bytes need less than 1 MiB.
 */
#define MANGLED_LENGTH_MAX 4096

struct output {
	char *text;
	size_t length;
	jmp_buf too_long;
};

/*
 * A short hostile name can stand for an output that is exponentially long; leaving by a jump ends the work at the
 * limit. cp-demangle's callback interface allocates nothing; rust-demangle's may then lose the small buffer of one
 * identifier, and only for a Rust name with letters outside ASCII that reaches the limit in just that identifier.
 */
static void append(const char *part, size_t length, void *context)
{
	struct output *output = context;
	if (length > DEMANGLE_LENGTH_MAX - output->length)
		longjmp(output->too_long, 1);
	memcpy(output->text + output->length, part, length);
	output->length += length;
}

size_t demangle(const char *name, char text[DEMANGLE_LENGTH_MAX + 1])
{
	bool may_be_rust = name[0] == '_' && (name[1] == 'R' || (name[1] == 'Z' && name[2] == 'N'));
	bool may_be_cplusplus = name[0] == '_' && name[1] == 'Z';
	if ((!may_be_rust && !may_be_cplusplus) || strnlen(name, MANGLED_LENGTH_MAX + 1) > MANGLED_LENGTH_MAX)
		return 0;
	struct output output = { .text = text };
	if (setjmp(output.too_long))
		return 0;
	/* A legacy Rust name is a well-formed C++ name too, so Rust comes first. */
	if (!may_be_rust || !rust_demangle_callback(name, DMGL_NO_OPTS, append, &output)) {
		output.length = 0;
		if (!may_be_cplusplus ||
		    !cplus_demangle_v3_callback(name, DMGL_NO_OPTS | DMGL_NO_RECURSE_LIMIT, append, &output))
			return 0;
	}
	text[output.length] = '\0';
	return output.length;
}
