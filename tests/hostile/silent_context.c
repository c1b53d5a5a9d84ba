/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is sampled and publishes a process context, as OpenTelemetry's proposal 4719 describes it, whose text
 * is in the second page of a file that was never read: silent_context FILE.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "next_turn.h"

struct context {
	char signature[8];
	uint32_t version, size;
	uint64_t published, address;
};

int main(int count, char **arguments)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int file = count == 2 ? open(arguments[1], O_RDONLY | O_CLOEXEC) : -1;
	int memory = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *page = file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, (off_t)size);
	if (page == MAP_FAILED || memory < 0 || ftruncate(memory, (off_t)size)) {
		perror("silent_context");
		return 1;
	}
	struct context *context = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (context == MAP_FAILED)
		return 1;
	*context = (struct context){ .version = 2, .size = 64, .published = 1, .address = (uintptr_t)page };
	memcpy(context->signature, "OTEL_CTX", sizeof context->signature);
	puts("ready");
	fflush(stdout);
	getchar();
	for (volatile unsigned long work = 0;; work = NEXT_TURN(work))
		;
}
