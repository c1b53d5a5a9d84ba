/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses several copies of the Level Zero loader in one process: copies MODULE KERNEL STEP...
 * A step is "FLAGS:FILE": opens the loader in this file, initialises it and launches the kernel through it; FLAGS:
 *   o  dlopen with RTLD_LOCAL
 *   d  and RTLD_DEEPBIND
 *   n  dlmopen into a new namespace
 *   p  FILE is the plugin (plugin.c), which is linked to a loader beside it
 *   c  closes it afterwards, ten times in all
 *   l  the loader that the program is linked to (FILE empty); with -DSTATIC it contains one (static_loader.c)
 * Prints "launch" PID STEP COUNT for each, with words between tabs. Ends with a line and status 1 if a call fails.
 */
#include "copies.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMES_CLOSED 10

/* A function of its own for each step, so that the stack shows it. */
#define STEP(number)                                                                                                   \
	__attribute__((noinline)) static void launch_in_step_##number(const struct copy *copy, int count)              \
	{                                                                                                              \
		copy_launch(copy, count);                                                                              \
		__asm__ volatile("");                                                                                  \
	}
STEP(0);
STEP(1);
STEP(2);
STEP(3);
static void (*const steps[])(const struct copy *copy, int count) = { launch_in_step_0, launch_in_step_1,
								     launch_in_step_2, launch_in_step_3 };

static const char *module_path, *kernel_name;

static void fail(const char *what)
{
	fprintf(stderr, "copies: %s\n", what);
	exit(1);
}

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		fail(dlerror());
	return found;
}

#ifdef WRAPPER
/* As a program does that measures its own calls. */
__attribute__((visibility("default"))) ze_result_t zeInit(ze_init_flags_t flags)
{
	ze_result_t (*original)(ze_init_flags_t) = (ze_result_t(*)(ze_init_flags_t))find(RTLD_NEXT, "zeInit");

	return original(flags);
}
#endif

#ifdef STATIC
static void *find_linked(void *library, const char *name)
{
	(void)library;
#define RETURN(function)                                                                                               \
	if (strcmp(name, #function) == 0)                                                                              \
		return (void *)function;
	COPY_FUNCTIONS(RETURN)
	return NULL;
}
#else
#define find_linked find
#endif

static void *open_step(const char *flags, const char *file)
{
	void *library = strchr(flags, 'n')
				? dlmopen(LM_ID_NEWLM, file, RTLD_NOW)
				: dlopen(file, RTLD_NOW | RTLD_LOCAL | (strchr(flags, 'd') ? RTLD_DEEPBIND : 0));

	if (!library)
		fail(dlerror());
	return library;
}

static void use(unsigned number, void *library, const char *flags)
{
	struct copy copy;
	int count = (int)(number + 1) * 3;

	if (strchr(flags, 'p')) {
		copy_open *open = (copy_open *)find(library, "plugin_open");
		open(&copy, module_path, kernel_name);
	} else {
		copy_load(&copy, library, strchr(flags, 'l') ? find_linked : find);
		copy_begin(&copy, module_path, kernel_name);
	}
	steps[number](&copy, count);
	copy_end(&copy);
	printf("launch\t%d\t%u\t%d\n", getpid(), number, count);
}

static void run_step(unsigned number, const char *flags, const char *file)
{
	for (int i = 0; i < (strchr(flags, 'c') ? TIMES_CLOSED : 1); i++) {
		void *library = strchr(flags, 'l') ? RTLD_DEFAULT : open_step(flags, file);

		use(number, library, flags);
		if (strchr(flags, 'c'))
			dlclose(library);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4 || argc - 3 > (int)(sizeof steps / sizeof *steps))
		fail("MODULE KERNEL STEP...");
	module_path = argv[1];
	kernel_name = argv[2];
	for (int i = 3; i < argc; i++) {
		char *colon = strchr(argv[i], ':');

		if (!colon)
			fail("a step is FLAGS:FILE");
		*colon = '\0';
		run_step((unsigned)i - 3, argv[i], colon + 1);
	}
	return 0;
}
