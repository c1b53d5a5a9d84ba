/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sleeps, whose stack pointer is in the second page of a file: stack_on_file FILE. The page was never
 * read, so that whoever copies the stack waits for the file system.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* pause() and, for aarch64, which lacks it, ppoll() of nothing; without a stack. */
static void sleep_on(char *stack)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n1: mov $34, %%eax\n syscall\n jmp 1b" : : "r"(stack) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov sp, %0\n1: mov x0, 0\n mov x1, 0\n mov x2, 0\n mov x3, 0\n mov x8, 73\n svc 0\n b 1b"
			 :
			 : "r"(stack)
			 : "memory");
#else
	(void)stack;
#endif
}

int main(int count, char **arguments)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int file = count == 2 ? open(arguments[1], O_RDONLY | O_CLOEXEC) : -1;
	char *page = file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, (off_t)size);
	if (page == MAP_FAILED) {
		perror("stack_on_file");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	sleep_on(page + size / 2);
	puts("does not sleep here");
	return 1;
}
