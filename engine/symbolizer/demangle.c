/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses cp-demangle and rust-demangle of libiberty: see demangle.h. Both may be linked into programs of any licence (the
 * exception in libiberty/demangle.h); the rest of libiberty, parts of which are GPL, is not linked.
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
 * libiberty's own limit (1,024) is too short for templates of numeric libraries. Its stack use grows with the length:
 * 4,096 bytes require less than 1 MiB.
 */
#define MANGLED_LENGTH_MAX 4096

/*
 * A function with the name of a type's description (_ZTS) is a kernel, which compilers name by a type: it is shown as
 * the type.
 */
#define TYPE_NAME_SYMBOL "_ZTS"
#define TYPE_NAME_PREFIX "typeinfo name for "

struct output {
	char *text;
	size_t length;
	jmp_buf too_long;
};

/*
 * A short hostile name can have exponentially long output; longjmp() ends the demangling at the limit. cp-demangle's
 * callback interface allocates nothing; rust-demangle may leak the small buffer of one identifier, only for a Rust name
 * with non-ASCII letters that reaches the limit in that identifier.
 */
static void append(const char *part, size_t length, void *context)
{
	struct output *output = context;
	if (length > DEMANGLE_LENGTH_MAX - output->length)
		longjmp(output->too_long, 1);
	if (length) /* rust-demangle passes empty parts as NULL */
		memcpy(output->text + output->length, part, length);
	output->length += length;
}

/* Appends the demangled form; false if there is none. */
static bool append_demangled(const char *name, struct output *output)
{
	bool may_be_cplusplus = name[0] == '_' && name[1] == 'Z';
	bool may_be_rust = name[0] == '_' && (name[1] == 'R' || (may_be_cplusplus && name[2] == 'N'));
	/* A legacy Rust name is also a valid C++ name, so Rust comes first. */
	if (may_be_rust && rust_demangle_callback(name, DMGL_NO_OPTS, append, output))
		return true;
	output->length = 0;
	return may_be_cplusplus &&
	       cplus_demangle_v3_callback(name, DMGL_NO_OPTS | DMGL_NO_RECURSE_LIMIT, append, output);
}

/*
 * Appends the demangled form and the rest of the symbol's name; false if there is none, or if it is too long. Not
 * inlined: longjmp() returns here, where no variable changes after setjmp().
 */
static __attribute__((noinline)) bool append_within_limit(const char *mangled, const char *rest, struct output *output)
{
	if (setjmp(output->too_long) || !append_demangled(mangled, output) || !output->length)
		return false;
	append(rest, strlen(rest), output);
	return true;
}

size_t demangle(const char *name, char text[DEMANGLE_LENGTH_MAX + 1])
{
	char mangled[MANGLED_LENGTH_MAX + 1];
	size_t length = strnlen(name, sizeof mangled);
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || length > MANGLED_LENGTH_MAX)
		return 0;
	/* "@plt" and symbol versions are not part of the mangled name. */
	size_t mangled_length = strcspn(name, "@");
	memcpy(mangled, name, mangled_length);
	mangled[mangled_length] = '\0';
	struct output output = { .text = text };
	if (!append_within_limit(mangled, name + mangled_length, &output))
		return 0;
	text[output.length] = '\0';
	size_t prefix_length = strlen(TYPE_NAME_PREFIX);
	if (strncmp(name, TYPE_NAME_SYMBOL, strlen(TYPE_NAME_SYMBOL)) == 0 &&
	    strncmp(text, TYPE_NAME_PREFIX, prefix_length) == 0) {
		output.length -= prefix_length;
		memmove(text, text + prefix_length, output.length + 1);
	}
	return output.length;
}
