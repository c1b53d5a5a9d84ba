/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to be loaded into the program level_zero: it counts itself there, after doing what libraries do then, and
 * has a function to be called.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The program's; weak, so that the library can be loaded into another one. */
extern uint32_t injected_count __attribute__((weak));
extern uint32_t injected_pause __attribute__((weak)); /* milliseconds */

static void *thread_run(void *argument)
{
	return memset(malloc(1000), 1, 1000) ? argument : NULL;
}

static __attribute__((constructor)) void injected_begin(void)
{
	pthread_t thread;
	char deep[100000];

	/* Registers, errno at the end, a deep stack, the locks of malloc() and of the dynamic linker, a thread. */
	memset(deep, 1, sizeof deep);
	__asm__ volatile("" : : "r"(deep) : "memory");
	void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
	if (library)
		dlclose(library);
	if (pthread_create(&thread, NULL, thread_run, NULL) == 0)
		pthread_join(thread, NULL);
	if (&injected_pause && injected_pause)
		usleep(injected_pause * 1000);
	if (&injected_count)
		__atomic_fetch_add(&injected_count, 1, __ATOMIC_RELEASE);
	errno = EDOM;
}

void injected_add(const char *argument);
__attribute__((visibility("default"))) void injected_add(const char *argument)
{
	if (&injected_count)
		__atomic_fetch_add(&injected_count, (uint32_t)atoi(argument), __ATOMIC_RELEASE);
	errno = ERANGE;
}
