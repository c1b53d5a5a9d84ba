/* SPDX-License-Identifier: Apache-2.0 */
/* The variable of OTEP 4947, in the program or in a library, by the access model that the compiler is set to. */
#include <stddef.h>

/* Beside the variable, for its offset and the size of the block. PADDING: beyond what glibc keeps for dlopen(3). */
#ifndef PADDING
#define PADDING 24
#endif
__thread __attribute__((visibility("default"), aligned(64))) char before_it[PADDING] = "thread-local";

__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

#ifdef HIDDEN
/* The library's own name for it, which no other file can define. */
extern __thread void *hidden __attribute__((alias("otel_thread_ctx_v1"), visibility("hidden")));
#define VARIABLE hidden
#else
#define VARIABLE otel_thread_ctx_v1
#endif

__attribute__((visibility("default"))) void set_context(void *record)
{
	VARIABLE = record;
}
