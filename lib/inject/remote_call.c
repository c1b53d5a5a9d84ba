/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See remote_call.h. If the injector is killed, the other process stays intact, except during the three system calls
 * that map and unmap the stub: about 50 microseconds each in which the thread has foreign registers.
 */
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include "base/clock.h"
#include "remote_call.h"
#include "remote_file.h"
#include "traced_stop.h"

_Static_assert(offsetof(struct remote_stub_data, error_function) == 8, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, errno_function) == 16, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, handle) == 24, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, symbol_function) == 32, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, signal_mask) == 40, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, instruction) == 48, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, stack) == 56, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, open_flags) == 64, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, errno_saved) == 72, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, done) == 76, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, path) == 80, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, error_text) == 4176, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, function) == 4688, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, argument) == 4752, "remote_stub.S");
_Static_assert(offsetof(struct remote_stub_data, loaded_function) == 5776, "remote_stub.S");
_Static_assert(sizeof(struct remote_stub_data) <= REMOTE_STUB_DATA_SIZE, "remote_stub.h");
_Static_assert(REMOTE_STUB_SIGNAL == SIGURG, "remote_stub.h");

/* CPUID leaf 0Dh, sub-leaf 0: EBX is the size of the XSAVE area for the features that the kernel enabled. */
#define CPUID_EXTENDED_STATE 0x0d
/* Time limit of a system call, which takes microseconds unless the thread does not run or runs other code. */
#define SYSTEM_CALL_DEADLINE (2 * NANOSECONDS_PER_SECOND)
/* Sleep between checks of a thread: nanoseconds. */
#define CHECK_SHORT 20000
#define CHECK_LONG 2000000
/* The user code segment of 64-bit programs, __USER_CS (arch/x86/include/asm/segment.h). */
#define CODE_SEGMENT_64 0x33

struct remote_state {
	struct user_regs_struct registers;
	uint64_t signal_mask;
	size_t vectors_size;
	uint8_t vectors[REMOTE_STUB_VECTORS_SIZE];
};

bool remote_load_is_possible(void)
{
	unsigned int a, b = 0, c, d;

	return __get_cpuid_count(CPUID_EXTENDED_STATE, 0, &a, &b, &c, &d) && b >= 512 && b <= REMOTE_STUB_VECTORS_SIZE;
}

/*
 * Signals that may interrupt the thread while it has foreign registers: those of its own instructions, and the stub's.
 * All others stay pending in order, and other threads handle signals to the process.
 */
static uint64_t signal_mask_quiet(void)
{
	static const int open[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, REMOTE_STUB_SIGNAL };
	uint64_t mask = ~UINT64_C(0);

	for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
		mask &= ~(UINT64_C(1) << (open[i] - 1));
	return mask;
}

static int state_save(pid_t thread, struct remote_state *state)
{
	struct iovec vectors = { .iov_base = state->vectors, .iov_len = sizeof state->vectors };

	if (ptrace(PTRACE_GETREGS, thread, NULL, &state->registers) != 0 ||
	    ptrace(PTRACE_GETREGSET, thread, (void *)NT_X86_XSTATE, &vectors) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, thread, (void *)sizeof state->signal_mask, &state->signal_mask) != 0)
		return -errno;
	state->vectors_size = vectors.iov_len;
	return vectors.iov_len < sizeof state->vectors ? 0 : -EOVERFLOW;
}

static int state_restore(pid_t thread, struct remote_state *state)
{
	struct iovec vectors = { .iov_base = state->vectors, .iov_len = state->vectors_size };

	if (ptrace(PTRACE_SETREGS, thread, NULL, &state->registers) != 0 ||
	    ptrace(PTRACE_SETREGSET, thread, (void *)NT_X86_XSTATE, &vectors) != 0 ||
	    ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof state->signal_mask, &state->signal_mask) != 0)
		return -errno;
	return 0;
}

static int memory_write(pid_t pid, uint64_t address, const void *bytes, size_t size)
{
	struct iovec here = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t count = process_vm_writev(pid, &here, 1, &there, 1, 0);

	return count == (ssize_t)size ? 0 : count < 0 ? -errno : -EFAULT;
}

static int memory_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec here = { .iov_base = bytes, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t count = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return count == (ssize_t)size ? 0 : count < 0 ? -errno : -EFAULT;
}

/* Waits until a thread stops or exits. Returns -ETIMEDOUT, with the thread running, after the deadline. */
static int stop_wait(pid_t thread, uint64_t deadline, int *status)
{
	struct timespec pause = { .tv_nsec = CHECK_SHORT };

	for (;;) {
		pid_t stopped = traced_stop_look(thread, status);
		if (stopped == thread)
			return 0;
		if (stopped < 0 && errno != EINTR)
			return -errno;
		if (clock_monotonic() >= deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < CHECK_LONG ? pause.tv_nsec * 2 : CHECK_LONG;
	}
}

/*
 * Lets a stopped thread run to its next system call entry or exit. Its code belongs to the other process, which may
 * have put anything there: after the deadline the thread is asked to stop, and load->is_lost is set.
 */
static int system_call_step(struct remote_load *load, uint64_t deadline)
{
	int signal = 0, status;
	pid_t thread = load->thread;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)signal) != 0)
			return -errno;
		int error = stop_wait(thread, deadline, &status);
		if (error == -ETIMEDOUT) {
			load->is_lost = true;
			ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
		}
		if (error)
			return error;
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == SYSTEM_CALL_STOP)
			return 0;
		/* The kernel resumes a group-stop when the thread is detached. */
		signal = status >> 16 ? 0 : WSTOPSIG(status);
	}
}

/*
 * Makes the stopped thread execute a system call with up to six arguments, using an instruction at an address of its
 * own, and stops it after the call.
 */
static int system_call_make(struct remote_load *load, uint64_t instruction, long number, const uint64_t arguments[6],
			    int64_t *result)
{
	static const uint8_t expected[] = { 0x0f, 0x05 }; /* SYSCALL */
	uint8_t found[sizeof expected];
	struct user_regs_struct registers = load->state->registers;
	uint64_t deadline = clock_monotonic() + SYSTEM_CALL_DEADLINE;

	/* In the process's memory, which may differ from the file. */
	int error = memory_read(load->thread, instruction, found, sizeof found);
	if (error)
		return error;
	if (memcmp(found, expected, sizeof expected) != 0)
		return -ENOEXEC;
	registers.rip = instruction;
	registers.rax = (uint64_t)number;
	registers.orig_rax = UINT64_MAX; /* prevents a system call restart */
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	if (ptrace(PTRACE_SETREGS, load->thread, NULL, &registers) != 0)
		return -errno;
	error = system_call_step(load, deadline);
	if (error == 0 && ptrace(PTRACE_GETREGS, load->thread, NULL, &registers) != 0)
		error = -errno;
	if (error)
		return error;
	if (registers.orig_rax != (uint64_t)number)
		return -EPROTO;
	error = system_call_step(load, deadline);
	if (error == 0 && ptrace(PTRACE_GETREGS, load->thread, NULL, &registers) != 0)
		error = -errno;
	if (error)
		return error;
	*result = (int64_t)registers.rax;
	return 0;
}

/*
 * Copies the library into a file in memory that the process creates, and makes the stub load that. The stub's memory
 * has the file's name where the path will be.
 */
static int library_copy(struct remote_load *load, const struct remote_library *library, const char **why)
{
	uint64_t name = load->stub + REMOTE_STUB_DATA + offsetof(struct remote_stub_data, path);
	int64_t result = -EINVAL;
	int error = 0;

	*why = "create a file in memory in it";
	/* Linux before 6.3 does not know MFD_EXEC, and needs none. */
	for (int i = 0; error == 0 && result == -EINVAL && i < 2; i++)
		error = system_call_make(
			load, load->functions.system_call, SYS_memfd_create,
			(uint64_t[6]){ name, REMOTE_FILE_FLAGS | (i ? 0 : REMOTE_FILE_EXECUTABLE), 0, 0, 0, 0 },
			&result);
	if (error || result < 0)
		return error ? error : (int)result;
	char path[64];
	load->file = (int)result;
	int length = snprintf(path, sizeof path, "/proc/thread-self/fd/%d", load->file);
	*why = "copy the library into its memory";
	error = remote_file_fill(load->thread, load->file, library->descriptor);
	return error ? error : memory_write(load->thread, name, path, (size_t)length + 1);
}

/* Maps the stub into the other process and fills it in. */
static int stub_map(struct remote_load *load, const struct remote_library *library, const char **why)
{
	int64_t result;
	struct remote_stub_data data = {
		.open_function = load->functions.open_function,
		.error_function = load->functions.error_function,
		.errno_function = load->functions.errno_function,
		.symbol_function = load->functions.symbol_function,
		.loaded_function = library->loaded_function,
		.signal_mask = load->state->signal_mask,
		.instruction = load->state->registers.rip,
		.stack = load->state->registers.rsp,
		.open_flags = RTLD_NOW | RTLD_LOCAL,
	};
	const char *slash = library->descriptor < 0 ? NULL : strrchr(library->path, '/');
	snprintf(data.path, sizeof data.path, "%s", slash ? slash + 1 : library->path);
	if (library->function) {
		snprintf(data.function, sizeof data.function, "%s", library->function);
		snprintf(data.argument, sizeof data.argument, "%s", library->argument);
	}

	*why = "map memory in it";
	int error = system_call_make(load, load->functions.system_call, SYS_mmap,
				     (uint64_t[6]){ 0, REMOTE_STUB_SIZE, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, UINT64_MAX, 0 },
				     &result);
	if (error || result < 0)
		return error ? error : (int)result;
	load->stub = (uint64_t)result;
	error = memory_write(load->thread, load->stub, remote_stub_begin,
			     (size_t)(remote_stub_end - remote_stub_begin));
	if (error == 0)
		error = memory_write(load->thread, load->stub + REMOTE_STUB_DATA, &data, sizeof data);
	if (error == 0 && library->descriptor >= 0 && !library->loaded_function)
		error = library_copy(load, library, why);
	if (error)
		return error;
	*why = "make memory in it executable (SELinux's execmem?)";
	error = system_call_make(load, load->functions.system_call, SYS_mprotect,
				 (uint64_t[6]){ load->stub, REMOTE_STUB_CODE_SIZE, PROT_READ | PROT_EXEC, 0, 0, 0 },
				 &result);
	load->is_executable = !error && result == 0;
	return error ? error : (int)result;
}

static int stub_unmap(struct remote_load *load)
{
	int64_t result = 0;

	if (!load->stub)
		return 0;
	/* Uses the stub's own instruction if possible: the thread returns from elsewhere anyway. */
	uint64_t instruction = load->is_executable
				       ? load->stub + (uint64_t)(remote_stub_system_call - remote_stub_begin)
				       : load->functions.system_call;
	int error = 0;
	if (load->file >= 0)
		error = system_call_make(load, instruction, SYS_close,
					 (uint64_t[6]){ (uint64_t)load->file, 0, 0, 0, 0, 0 }, &result);
	if (error)
		return error;
	load->file = -1;
	error = system_call_make(load, instruction, SYS_munmap,
				 (uint64_t[6]){ load->stub, REMOTE_STUB_SIZE, 0, 0, 0, 0 }, &result);
	if (!error)
		load->stub = 0;
	return error ? error : (int)result;
}

int remote_load_begin(struct remote_load *load, pid_t thread, const struct remote_functions *functions,
		      const struct remote_library *library, const char **why)
{
	uint64_t quiet = signal_mask_quiet();
	struct remote_state *state = load->state = calloc(1, sizeof *state);

	*why = "save its registers";
	int error = state ? state_save(thread, state) : -ENOMEM;
	if (error == 0 && state->registers.cs != CODE_SEGMENT_64)
		error = -EINVAL;
	if (error) {
		remote_load_free(load);
		return error;
	}
	load->thread = thread;
	load->file = -1;
	load->functions = *functions;
	state->registers.orig_rax = UINT64_MAX;
	if (ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof quiet, &quiet) != 0)
		error = -errno;
	if (error == 0)
		error = stub_map(load, library, why);
	if (error == 0) {
		struct user_regs_struct registers = state->registers;
		registers.rip = load->stub;
		registers.rsp = load->stub + REMOTE_STUB_DATA;
		if (ptrace(PTRACE_SETREGS, thread, NULL, &registers) != 0 ||
		    ptrace(PTRACE_CONT, thread, NULL, NULL) != 0)
			error = -errno;
	}
	if (error == 0)
		return 0;
	if (error != -ESRCH && !load->is_lost)
		stub_unmap(load);
	if (load->is_lost)
		return -ETIMEDOUT;
	if (error != -ESRCH)
		state_restore(thread, state);
	remote_load_free(load);
	return error;
}

bool remote_load_put_back(struct remote_load *load)
{
	bool is_whole = state_restore(load->thread, load->state) == 0;

	ptrace(PTRACE_DETACH, load->thread, NULL, NULL);
	remote_load_free(load);
	return is_whole;
}

bool remote_load_is_done(const struct remote_load *load, int signal)
{
	struct user_regs_struct registers;
	uint32_t done = 0;

	/* An unrelated signal may arrive before the stub has called dlopen(). */
	return signal == REMOTE_STUB_SIGNAL && ptrace(PTRACE_GETREGS, load->thread, NULL, &registers) == 0 &&
	       registers.rip > load->stub && registers.rip - load->stub < REMOTE_STUB_CODE_SIZE &&
	       memory_read(load->thread, load->stub + REMOTE_STUB_DATA + offsetof(struct remote_stub_data, done), &done,
			   sizeof done) == 0 &&
	       done;
}

/* Reads the text of dlerror() as one line. */
static void error_text_copy(const struct remote_stub_data *data, char *message, size_t size)
{
	size_t length = 0;

	for (; length + 1 < size && length < sizeof data->error_text && data->error_text[length]; length++)
		message[length] = data->error_text[length] < ' ' || data->error_text[length] > '~'
					  ? '?'
					  : data->error_text[length];
	message[length] = '\0';
}

enum remote_result remote_load_finish(struct remote_load *load, char *message, size_t message_size)
{
	struct remote_stub_data data;
	enum remote_result result = REMOTE_LOADED;

	message[0] = '\0';
	int error = memory_read(load->thread, load->stub + REMOTE_STUB_DATA, &data, sizeof data);
	if (error == 0 && !data.handle) {
		error_text_copy(&data, message, message_size);
		result = REMOTE_REFUSED;
	}
	int unmapped = stub_unmap(load);
	if (load->is_lost)
		return REMOTE_LOST;
	if (unmapped != -ESRCH && state_restore(load->thread, load->state) != 0)
		unmapped = -errno;
	if (error == 0)
		error = unmapped;
	if (error) {
		result = error == -ESRCH ? REMOTE_THREAD_ENDED : REMOTE_BROKEN;
		snprintf(message, message_size, "%s", strerror(-error));
	}
	remote_load_free(load);
	return result;
}

void remote_load_free(struct remote_load *load)
{
	free(load->state);
	*load = (struct remote_load){ 0 };
}
