/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose lock of its address space is held: held_memory FILE. It changes the second page of the file, which is
 * on a file system whose server does not answer any more when a line comes, and then maps other memory over it. The
 * Linux kernel holds the lock while it writes the page back.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int file = count == 2 ? open(arguments[1], O_RDWR | O_CLOEXEC) : -1;
	char *page = file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)size);
	if (page == MAP_FAILED) {
		perror("held_memory");
		return 1;
	}
	page[0]++;
	puts("ready");
	fflush(stdout);
	getchar();
	mmap(page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	puts("not held");
	return 0;
}
