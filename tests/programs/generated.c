/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code that it generates in anonymous memory: generated [LIBRARY [late]]. Loads the library, whose name tells
 * which runtime this is. late: when it gets SIGTERM, writes its perf map and ends, as HotSpot does.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static volatile sig_atomic_t ends;

static void end(int number)
{
	ends = 1;
}

__attribute__((noinline)) static void work(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

static void write_map(const void *code)
{
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *file = fopen(path, "w");
	if (!file)
		return;
	fprintf(file, "%lx %x late_function\n", (unsigned long)(uintptr_t)code, PAGE);
	fclose(file);
}

int main(int count, char **arguments)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	unsigned char *memory =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || (count > 1 && !dlopen(arguments[1], RTLD_NOW)))
		return 1;
	memcpy(memory, code, sizeof code);
	void (*generated)(void (*)(void));
	memcpy(&generated, &memory, sizeof generated);
	signal(SIGTERM, end);
	while (!ends)
		generated(work);
	if (count > 2)
		write_map(memory);
	return 0;
}
