/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies its own code to anonymous memory, as programs do for huge pages, then calls hot_outer(), hot_middle() and
 * hot_inner() for a CPU time: copied-text FORM MILLISECONDS. FORM: "part" maps memory over a part of its code, "whole"
 * moves memory over all of it, "none" copies nothing, and "other" maps other code there.
 */
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
/* In the order of this file. */
#ifdef __clang__
#define HOT __attribute__((section("hot"), noinline, used))
#else
#define HOT __attribute__((section("hot"), noinline, noclone, no_reorder, used))
#endif

#define FILLED __asm__ volatile(".rept 1024\n.quad 0x0123456789abcdef\n.endr")

extern char __start_hot[], __stop_hot[];

static volatile uint64_t sink;

/* Not called: between these two, whole pages are of the section only. */
HOT static void hot_begin(void)
{
	FILLED;
}

HOT static void hot_inner(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sink = sink * 6364136223846793005u + 1442695040888963407u;
}

HOT static void hot_middle(unsigned count)
{
	hot_inner(count);
	sink++;
}

HOT static void hot_outer(unsigned count)
{
	hot_middle(count);
	sink++;
}

HOT static void hot_end(void)
{
	FILLED;
}

static void *copy_of(const void *from, size_t size)
{
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		exit(EXIT_FAILURE);
	return memcpy(copy, from, size);
}

/* Called while nothing of the part runs. */
static void replace_part(int is_other)
{
	char *begin = (char *)(((uintptr_t)__start_hot + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	char *end = (char *)((uintptr_t)__stop_hot & ~(uintptr_t)(PAGE - 1));
	size_t size = (size_t)(end - begin);
	const char *copy = copy_of(begin, size);
	if (mmap(begin, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		exit(EXIT_FAILURE);
	memcpy(begin, copy, size);
	/* The same code at the same addresses, between bytes that differ. */
	for (char *byte = begin; is_other && byte < end; byte++)
		if (byte < (char *)(uintptr_t)hot_inner || byte >= (char *)(uintptr_t)hot_end)
			*byte ^= 0x55;
	mprotect(begin, size, PROT_READ | PROT_EXEC);
}

static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	uintptr_t *range = data;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			range[0] = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~(uintptr_t)(PAGE - 1);
			range[1] =
				(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz + PAGE - 1) &
				~(uintptr_t)(PAGE - 1);
		}
	return 1; /* only the program, which is first */
}

static void replace_whole(void)
{
	uintptr_t range[2] = { 0 };
	dl_iterate_phdr(find_code, range);
	size_t size = range[1] - range[0];
	void *copy = copy_of((void *)range[0], size);
	mprotect(copy, size, PROT_READ | PROT_EXEC);
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)range[0]) == MAP_FAILED)
		exit(EXIT_FAILURE);
}

int main(int count, char **arguments)
{
	if (count != 3)
		return EXIT_FAILURE;
	if (!strcmp(arguments[1], "part") || !strcmp(arguments[1], "other"))
		replace_part(!strcmp(arguments[1], "other"));
	else if (!strcmp(arguments[1], "whole"))
		replace_whole();
	puts("copied");
	fflush(stdout);
	clock_t end = clock() + (clock_t)(atof(arguments[2]) * CLOCKS_PER_SEC / 1000);
	while (clock() < end)
		hot_outer(1000000);
	return EXIT_SUCCESS;
}
