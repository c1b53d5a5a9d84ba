/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with as many executable mappings as it may have: of the same page of its own file, so that none of them can
 * be joined with the next.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	long page = sysconf(_SC_PAGESIZE), most = count > 1 ? atol(arguments[1]) : 0;
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (long i = 0; i < most; i++)
		if (mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
			break;
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
