/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into tests of the suite one-thread, which ThreadSanitizer does not see: they start no thread. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
							  void *(*function)(void *), void *context)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	/* Programs that tests start may have threads. */
	if (strncmp(program_invocation_short_name, "test_", 5) != 0) {
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
		return next ? next(thread, attributes, function, context) : EAGAIN;
	}
	fputs("a test of the suite one-thread started a thread: take it out of that suite\n", stderr);
	abort();
}
