/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes process events without pause: "renames" of this process, or "mappings" of executable memory whose file has a
 * path of 3.6 KB.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 18
#define NAME_LENGTH 200

static int deep_file(void)
{
	char name[NAME_LENGTH + 1] = { 0 };
	memset(name, 'd', NAME_LENGTH);
	for (int depth = 0; depth < DEPTH; depth++)
		if ((mkdir(name, 0700) && chdir(name)) || chdir(name))
			return -1;
	return open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
}

int main(int count, char **arguments)
{
	int maps = count > 1 && strcmp(arguments[1], "mappings") == 0, file = maps ? deep_file() : 0;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char name[16];
	if (file < 0 || (maps && ftruncate(file, (off_t)size)) || write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (unsigned turn = 0;; turn++) {
		snprintf(name, sizeof name, "storm%u", turn);
		void *mapping = maps ? mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) : NULL;
		if (mapping == MAP_FAILED || (maps ? munmap(mapping, size) : prctl(PR_SET_NAME, name, 0, 0, 0)))
			return 1;
	}
}
