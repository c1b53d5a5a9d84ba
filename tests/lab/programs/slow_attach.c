/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: waits between the two steps in which libbpf attaches a program to a uprobe, and after them. After
 * perf_event_open() Linux has raised the probe's semaphore; before the link is created, the program does not run.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAIT 100000 /* us */

/* The C library's syscall(), which libbpf calls for bpf(). */
__attribute__((visibility("default"))) long syscall(long number, ...)
{
	va_list arguments;
	long words[6], result;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(arguments, long);
	va_end(arguments);
	bool is_slow = number == SYS_bpf && words[0] == BPF_LINK_CREATE;
	if (is_slow)
		usleep(WAIT);

	register long fourth __asm__("r10") = words[3];
	register long fifth __asm__("r8") = words[4];
	register long sixth __asm__("r9") = words[5];
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	if (is_slow)
		usleep(WAIT);
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}
