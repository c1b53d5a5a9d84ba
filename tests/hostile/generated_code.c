/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs code which it made itself, as a JIT compiler does: an endless loop at GENERATED_ADDRESS, which
 * only its perf map can name. It prints "ready" and begins when it can read a line.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GENERATED_ADDRESS ((void *)0x10000000)
#define GENERATED_SIZE 0x1000

#if defined(__x86_64__)
static const unsigned char loop[] = { 0xeb, 0xfe }; /* jmp . */
#elif defined(__aarch64__)
static const unsigned char loop[] = { 0x00, 0x00, 0x00, 0x14 }; /* b . */
#else
#error "no endless loop is known for this machine"
#endif

int main(void)
{
	char byte;
	unsigned char *code = mmap(GENERATED_ADDRESS, GENERATED_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code != GENERATED_ADDRESS)
		return 1;
	memcpy(code, loop, sizeof loop);
	__builtin___clear_cache((char *)code, (char *)code + sizeof loop);
	if (mprotect(code, GENERATED_SIZE, PROT_READ | PROT_EXEC) || write(STDOUT_FILENO, "ready\n", 6) != 6 ||
	    read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	void (*run)(void);
	memcpy(&run, &code, sizeof run);
	run();
	return 0;
}
