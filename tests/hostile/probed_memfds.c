/* SPDX-License-Identifier: Apache-2.0 */
/* Maps COUNT sealed files in memory, each a copy of FILE, whose probes iaprof attaches to, and sleeps. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_copy(int file, off_t size)
{
	off_t offset = 0;
	int copy = memfd_create("probed", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (copy < 0 || sendfile(copy, file, &offset, (size_t)size) != size ||
	    fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW))
		return 0;
	return mmap(NULL, (size_t)size, PROT_READ | PROT_EXEC, MAP_PRIVATE, copy, 0) != MAP_FAILED;
}

int main(int count, char **arguments)
{
	struct stat status;
	long copies = count > 2 ? atol(arguments[1]) : 0;
	int file = count > 2 ? open(arguments[2], O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0 || fstat(file, &status))
		return 1;
	for (long i = 0; i < copies; i++)
		if (!map_copy(file, status.st_size))
			return 1;
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
