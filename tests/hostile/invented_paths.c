/* SPDX-License-Identifier: Apache-2.0 */
/* A process that maps one file under ever new paths of 3 KiB, as fast as it can: no path is ever seen again. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 14
#define NAME_LENGTH 200

static void go_deep(void)
{
	char name[NAME_LENGTH + 1] = { 0 };
	memset(name, 'd', NAME_LENGTH);
	for (int depth = 0; depth < DEPTH; depth++)
		if ((mkdir(name, 0700) && chdir(name)) || chdir(name))
			return;
}

int main(void)
{
	char name[32], next[32];
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	go_deep();
	snprintf(name, sizeof name, "%d.0", getpid());
	int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (file < 0 || ftruncate(file, (off_t)size) || write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (unsigned long turn = 1;; turn++) {
		snprintf(next, sizeof next, "%d.%lu", getpid(), turn);
		void *mapping =
			rename(name, next) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
		if (mapping == MAP_FAILED)
			return 1;
		munmap(mapping, size);
		memcpy(name, next, sizeof name);
	}
}
