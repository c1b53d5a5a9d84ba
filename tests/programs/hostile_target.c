/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that calls Level Zero and does not let anybody use its threads: what an injector runs there never ends.
 *
 *     hostile_target LOADER replaced|intercepted|dlopen|memory
 *
 * replaced: the first SYSCALL instruction of the C library is a loop. intercepted: it is there, but Linux
 * calls a handler instead (PR_SET_SYSCALL_USER_DISPATCH), which never returns. dlopen: that function sleeps in a loop.
 * memory: the C library has pages that nobody can read, and reading them never ends; "wanted" is printed when somebody
 * tries. Prints "ready"; answers each line of input with "MISTAKES CALLS" after 1000 further calls, where MISTAKES is
 * how often a call changed a register.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/prctl.h, since Linux 5.11. */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#define SYSCALL_DISPATCH_FILTER_BLOCK 1
#endif

#define PAGE UINT64_C(4096)
#define WITHHELD UINT64_C(0x10000000)

struct registers_pattern {
	uint8_t vectors[16][32];
	uint64_t general[14];
};
int registers_survive(void (*function)(void), const struct registers_pattern *pattern);

static uint64_t calls, mistakes;
static uint8_t *guarded; /* the instruction that is intercepted */
static void (*function)(void);
static int withheld_faults;

static int instruction_find(struct dl_phdr_info *info, size_t size, void *found)
{
	static const uint8_t instruction[] = { 0x0f, 0x05 };

	if (!strstr(info->dlpi_name, "/libc.so.6"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && !*(void **)found; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			*(void **)found = memmem((void *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz,
						 instruction, sizeof instruction);
	}
	return 1;
}

static int library_path_find(struct dl_phdr_info *info, size_t size, void *found)
{
	if (!strstr(info->dlpi_name, "/libc.so.6"))
		return 0;
	*(const char **)found = info->dlpi_name;
	return 1;
}

static void code_write(uint8_t *code, const char *bytes, size_t size)
{
	void *page = (void *)((uintptr_t)code & ~(PAGE - 1));

	mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, bytes, size);
	mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC);
}

static void system_call_take(int signal)
{
	for (;;)
		;
}

/* Of this thread: system calls by the guarded instruction, and by those below it, which it does not make. */
static int system_calls_intercept(void)
{
	static char selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	uintptr_t allowed = (uintptr_t)guarded + 3; /* Linux compares with the address behind the instruction */

	signal(SIGSYS, system_call_take);
	return prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, allowed, UINTPTR_MAX - allowed, &selector);
}

/*
 * A second C library, before the first one in the list of mappings: a file in memory whose pages nobody may see until
 * this process says so, which it never does. False when Linux does not support that.
 */
static bool library_withhold(void)
{
	char path[64], bytes[65536];
	const char *original = NULL;
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_MINOR_SHMEM };
	struct stat status;
	ssize_t count;

	dl_iterate_phdr(library_path_find, (void *)&original);
	snprintf(path, sizeof path, "/dev/shm/hostile-%d", (int)getpid());
	mkdir(path, 0700);
	snprintf(path, sizeof path, "/dev/shm/hostile-%d/libc.so.6", (int)getpid());
	int from = original ? open(original, O_RDONLY | O_CLOEXEC) : -1;
	int to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	while (from >= 0 && to >= 0 && (count = read(from, bytes, sizeof bytes)) > 0)
		if (write(to, bytes, (size_t)count) != count)
			return false;
	if (from < 0 || to < 0 || fstat(to, &status) != 0)
		return false;
	void *memory = mmap((void *)WITHHELD, (size_t)status.st_size, PROT_READ | PROT_EXEC,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, to, 0);
	withheld_faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_register range = { .range = { .start = WITHHELD,
						    .len = ((uint64_t)status.st_size + PAGE - 1) & ~(PAGE - 1) },
					 .mode = UFFDIO_REGISTER_MODE_MINOR };
	return memory != MAP_FAILED && withheld_faults >= 0 && ioctl(withheld_faults, UFFDIO_API, &api) == 0 &&
	       ioctl(withheld_faults, UFFDIO_REGISTER, &range) == 0;
}

/* Tells of the first page that somebody wants. */
static void *faults_run(void *argument)
{
	struct uffd_msg message;

	if (read(withheld_faults, &message, sizeof message) == sizeof message) {
		puts("wanted");
		fflush(stdout);
	}
	return argument;
}

static void *calls_run(void *argument)
{
	struct registers_pattern pattern;

	if (guarded && system_calls_intercept() != 0) {
		puts("not supported");
		fflush(stdout);
		return argument;
	}
	puts("ready");
	fflush(stdout);
	for (uint64_t turn = 0;; turn++) {
		for (size_t i = 0; i < sizeof pattern; i++)
			((uint8_t *)&pattern)[i] = (uint8_t)(turn + i * 7);
		if (registers_survive(function, &pattern) != 0)
			__atomic_fetch_add(&mistakes, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
		usleep(10);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[16];
	uint8_t *instruction = NULL;

	if (argc != 3)
		return 2;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "zeCommandListReset") : NULL;
	dl_iterate_phdr(instruction_find, (void *)&instruction);
	if (!symbol || !instruction) {
		fprintf(stderr, "no function, or no SYSCALL instruction\n");
		return 2;
	}
	memcpy(&function, &symbol, sizeof function);
	if (strcmp(argv[2], "replaced") == 0)
		code_write(instruction, "\xeb\xfe", 2); /* jmp . */
	else if (strcmp(argv[2], "dlopen") == 0)
		/* mov $SYS_pause, %eax; syscall; jmp to the beginning */
		code_write(dlsym(RTLD_DEFAULT, "dlopen"), "\xb8\x22\0\0\0\x0f\x05\xeb\xf7", 9);
	else if (strcmp(argv[2], "memory") == 0) {
		if (!library_withhold() || pthread_create(&thread, NULL, faults_run, NULL) != 0) {
			puts("not supported");
			return 0;
		}
	} else if (strcmp(argv[2], "intercepted") == 0)
		guarded = instruction;
	if (pthread_create(&thread, NULL, calls_run, NULL) != 0)
		return 2;
	while (fgets(line, sizeof line, stdin)) {
		uint64_t before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
		while (__atomic_load_n(&calls, __ATOMIC_RELAXED) < before + 1000)
			usleep(100);
		printf("%" PRIu64 " %" PRIu64 "\n", __atomic_load_n(&mistakes, __ATOMIC_RELAXED),
		       __atomic_load_n(&calls, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	_exit(0);
}
