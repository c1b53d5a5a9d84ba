/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a library into a running program: level_zero counts each of its own mistakes, and what else is said here is
 * read from /proc.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "inject/inject.h"
#include "../run_suite.h"

/* A host that keeps its messages. */
struct listener {
	struct iaprof_host host;
	pthread_mutex_t mutex;
	char text[8192];
	char calls[512];
	struct injection_request request; /* of the latest injection */
};

__attribute__((format(printf, 2, 0))) static void listener_add(struct listener *listener, const char *format,
							       va_list arguments)
{
	pthread_mutex_lock(&listener->mutex);
	size_t used = strlen(listener->text);
	vsnprintf(listener->text + used, sizeof listener->text - used, format, arguments);
	used = strlen(listener->text);
	snprintf(listener->text + used, sizeof listener->text - used, "\n");
	pthread_mutex_unlock(&listener->mutex);
}

IAPROF_PRINTF(3, 4) static void listener_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	va_list arguments;

	if (level > IAPROF_LOG_INFO)
		return;
	va_start(arguments, format);
	listener_add(host->core, format, arguments);
	va_end(arguments);
}

IAPROF_PRINTF(3, 4) static int listener_fail(const struct iaprof_host *host, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	listener_add(host->core, format, arguments);
	va_end(arguments);
	return -abs(error);
}

static uint64_t listener_clock(const struct iaprof_host *host)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void listener_init(struct listener *listener)
{
	*listener = (struct listener){ .host = { .size = sizeof(struct iaprof_host),
						 .instance_name = "inject",
						 .clock = listener_clock,
						 .log = listener_log,
						 .fail = listener_fail },
				       .mutex = PTHREAD_MUTEX_INITIALIZER };
	listener->host.core = listener;
}

static bool listener_heard(struct listener *listener, const char *text)
{
	pthread_mutex_lock(&listener->mutex);
	bool heard = strstr(listener->text, text) != NULL;
	pthread_mutex_unlock(&listener->mutex);
	return heard;
}

/* The program level_zero. */
struct program {
	pid_t pid;
	int input;
	FILE *output;
};

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	ck_assert_msg(value != NULL, "%s is not set: run the tests with meson test", name);
	return value;
}

/* Of swapon(), which nobody calls here: it ends the process, or fails. */
static void seccomp_filter_install(uint32_t action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_swapon, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Without output when its first line is another one: then it has ended. */
static struct program program_start_line(const char *path, const char *mode, const char *pause, const char *first)
{
	struct program program = { 0 };
	int input[2], output[2];
	char line[16];
	const char *loader = environment("TEST_LOADER");
	bool filtered = strcmp(mode, "filtered") == 0, contained = strcmp(mode, "contained") == 0;

	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	program.pid = fork();
	ck_assert_int_ge(program.pid, 0);
	if (program.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		if (filtered)
			seccomp_filter_install(SECCOMP_RET_KILL_PROCESS);
		if (contained)
			seccomp_filter_install(SECCOMP_RET_ERRNO | EPERM);
		execl(path, path, loader, filtered || contained ? "calls" : mode, pause, NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	program.input = input[1];
	program.output = fdopen(output[0], "r");
	ck_assert_ptr_nonnull(program.output);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, program.output));
	if (strcmp(line, first) != 0) {
		fclose(program.output);
		close(program.input);
		waitpid(program.pid, NULL, 0);
		program.output = NULL;
	}
	return program;
}

static struct program program_start_file(const char *path, const char *mode, const char *pause)
{
	struct program program = program_start_line(path, mode, pause, "ready\n");

	ck_assert_ptr_nonnull(program.output);
	return program;
}

static struct program program_start(const char *mode, const char *pause)
{
	return program_start_file(environment("TEST_LEVEL_ZERO_PROGRAM"), mode, pause);
}

/* Ends the program; it must have made no mistake, and the library must have been loaded that often. */
static void program_end(struct program *program, uint64_t injected)
{
	char name[32], counts[1024] = "";
	uint64_t value, calls = 0, found = UINT64_MAX;
	int status;

	close(program->input);
	while (fscanf(program->output, "%31s %" SCNu64, name, &value) == 2) {
		size_t used = strlen(counts);
		snprintf(counts + used, sizeof counts - used, "%s %" PRIu64 ", ", name, value);
		if (strcmp(name, "calls") == 0)
			calls = value;
		if (strcmp(name, "injected") == 0)
			found = value;
	}
	fclose(program->output);
	ck_assert_int_eq(waitpid(program->pid, &status, 0), program->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program ended with status %#x: %s", status,
		      counts);
	ck_assert_msg(found == injected, "loaded %" PRIu64 " times instead of %" PRIu64, found, injected);
	fprintf(stderr, "# %s\n", counts);
	(void)calls;
}

/* Lines of a file in /proc/PID that contain a text. */
static size_t lines_count(pid_t pid, const char *name, const char *text, const char *without)
{
	char path[64], line[8192];
	size_t count = 0;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file))
		count += strstr(line, text) != NULL && !(without && strstr(line, without));
	fclose(file);
	return count;
}

/* Executable memory that belongs to no file: a stub that was left. */
static size_t stubs_count(pid_t pid)
{
	return lines_count(pid, "maps", " r-xp 00000000 00:00 0 ", "[");
}

static enum injection_state state_wait(const struct injection *injection, struct listener *listener)
{
	for (int i = 0; i < 20000 && injection_state(injection) == INJECTION_WAITING; i++)
		usleep(10000);
	ck_assert_msg(injection_state(injection) != INJECTION_WAITING, "nothing came of it: %s", listener->text);
	return injection_state(injection);
}

static int injection_begin(struct listener *listener, pid_t pid, const char *library, struct injection **injection)
{
	struct injection_request *request = &listener->request;

	request->pid = pid;
	request->library = library;
	request->api = "Level Zero";
	snprintf(listener->calls, sizeof listener->calls,
		 "libze_loader.so zeCommandListAppendLaunchKernel zeCommandListReset "
		 "zeCommandQueueExecuteCommandLists zeCommandQueueSynchronize zeEventHostSynchronize "
		 "zeEventQueryStatus;"
		 "libigdrcl.so clGetPlatformInfo@1 38 41");
	request->calls_count = watched_calls_parse(listener->calls, request->calls);
	ck_assert_uint_eq(request->calls_count, 2);
	return injection_start(&listener->host, request, injection);
}

static void library_load(struct listener *listener, pid_t pid, const char *library)
{
	struct injection *injection;

	ck_assert_msg(injection_begin(listener, pid, library, &injection) == 0, "%s", listener->text);
	ck_assert_msg(state_wait(injection, listener) == INJECTION_LOADED, "%s", listener->text);
	injection_end(injection);
}

TEST(library_is_loaded)
{
	struct listener listener;
	struct program program = program_start("calls", NULL);

	listener_init(&listener);
	library_load(&listener, program.pid, environment("TEST_INJECTED"));
	ck_assert_uint_ge(lines_count(program.pid, "maps", "injected", NULL), 1);
	ck_assert_uint_eq(stubs_count(program.pid), 0);
	ck_assert_uint_eq(lines_count(program.pid, "status", "TracerPid:\t0\n", NULL), 1);
	/* A second time there is nothing to do. */
	library_load(&listener, program.pid, environment("TEST_INJECTED"));
	program_end(&program, 1);
}

static void function_call(struct listener *listener, pid_t pid, const char *argument)
{
	listener->request.function = "injected_add";
	listener->request.argument = argument;
	library_load(listener, pid, environment("TEST_INJECTED"));
}

/* The constructor counts 1, the function its argument. */
TEST(function_is_called_each_time)
{
	struct listener listener;
	struct program program = program_start("calls", NULL);

	listener_init(&listener);
	function_call(&listener, program.pid, "10");
	function_call(&listener, program.pid, "200");
	ck_assert_uint_eq(stubs_count(program.pid), 0);
	program_end(&program, 211);
}

TEST(missing_function_is_reported)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start("calls", NULL);

	listener_init(&listener);
	listener.request.function = "no_such_function";
	listener.request.argument = "";
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	ck_assert_int_eq(state_wait(injection, &listener), INJECTION_FAILED);
	injection_end(injection);
	ck_assert_msg(listener_heard(&listener, "no_such_function"), "%s", listener.text);
	program_end(&program, 1);
}

static void file_copy(const char *from, const char *to)
{
	char bytes[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t count;

	ck_assert(in >= 0 && out >= 0);
	while ((count = read(in, bytes, sizeof bytes)) > 0)
		ck_assert_int_eq(write(out, bytes, (size_t)count), count);
	close(in);
	close(out);
}

/* Each copy of the library is another one for the dynamic linker. */
TEST(many_loads_disturb_nothing)
{
	struct listener listener;
	char folder[] = "/tmp/test-inject-XXXXXX", path[64];
	struct program program = program_start("calls", NULL);

	int loads = atoi(environment("TEST_LOADS"));

	ck_assert_int_gt(loads, 0);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	listener_init(&listener);
	for (int i = 0; i < loads; i++) {
		snprintf(path, sizeof path, "%s/%d.so", folder, i);
		file_copy(environment("TEST_INJECTED"), path);
		library_load(&listener, program.pid, path);
		unlink(path);
	}
	rmdir(folder);
	ck_assert_uint_eq(stubs_count(program.pid), 0);
	program_end(&program, (uint64_t)loads);
}

TEST(loader_may_come_late)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start("late", NULL);

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	usleep(100000);
	ck_assert_int_eq(injection_state(injection), INJECTION_WAITING);
	ck_assert_int_eq(write(program.input, "\n", 1), 1);
	ck_assert_int_eq(state_wait(injection, &listener), INJECTION_LOADED);
	injection_end(injection);
	program_end(&program, 1);
}

static void nothing_is_loaded(const char *mode, const char *message)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start(mode, NULL);

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	for (int i = 0; i < 20000 && !listener_heard(&listener, message); i++)
		usleep(10000);
	ck_assert_msg(listener_heard(&listener, message), "%s", listener.text);
	ck_assert_int_eq(injection_state(injection), INJECTION_WAITING);
	injection_end(injection);
	ck_assert_msg(listener_heard(&listener, "was not loaded"), "%s", listener.text);
	ck_assert_uint_eq(lines_count(program.pid, "status", "TracerPid:\t0\n", NULL), 1);
	program_end(&program, 0);
}

TEST(silent_program_is_left_alone)
{
	nothing_is_loaded("silent", "has not called Level Zero yet");
}

TEST(deaf_thread_is_left_alone)
{
	nothing_is_loaded("deaf", "blocks SIGURG and SIGWINCH");
}

TEST(refused_library_is_reported)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start("calls", NULL);

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, "/etc/passwd", &injection), 0);
	ck_assert_int_eq(state_wait(injection, &listener), INJECTION_FAILED);
	injection_end(injection);
	ck_assert_msg(listener_heard(&listener, "invalid ELF header"), "%s", listener.text);
	ck_assert_uint_eq(stubs_count(program.pid), 0);
	program_end(&program, 0);
}

static void start_is_refused(pid_t pid, const char *library, const char *message)
{
	struct listener listener;
	struct injection *injection;

	listener_init(&listener);
	ck_assert_int_lt(injection_begin(&listener, pid, library, &injection), 0);
	ck_assert_ptr_null(injection);
	ck_assert_msg(listener_heard(&listener, message), "%s", listener.text);
	ck_assert_ptr_eq(strchr(listener.text, '\n'), strrchr(listener.text, '\n'));
}

TEST(what_cannot_be_is_refused)
{
	struct program traced = program_start("calls", NULL);
	const char *library = environment("TEST_INJECTED");

	ck_assert_int_eq(ptrace(PTRACE_SEIZE, traced.pid, NULL, NULL), 0);
	start_is_refused(traced.pid, library, "is already traced by process");
	start_is_refused(getpid(), "/nowhere/library.so", "/nowhere/library.so");
	kill(traced.pid, SIGKILL);
	pid_t gone = fork();
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	start_is_refused(gone, library, "no such process");
}

static void mapping_wait(pid_t pid)
{
	for (int i = 0; i < 120000 && lines_count(pid, "maps", "injected", NULL) == 0; i++)
		usleep(5000);
	ck_assert_uint_ge(lines_count(pid, "maps", "injected", NULL), 1);
}

static void filter_is_refused(struct program program)
{
	struct listener listener;
	struct injection *injection;

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	ck_assert_int_eq(state_wait(injection, &listener), INJECTION_FAILED);
	injection_end(injection);
	ck_assert_msg(listener_heard(&listener, "a seccomp filter that could end it"), "%s", listener.text);
	program_end(&program, 0);
}

TEST(deadly_filter_is_refused)
{
	filter_is_refused(program_start("filtered", NULL));
}

/* As that of a container. */
TEST(filter_that_only_fails_is_no_obstacle)
{
	struct listener listener;
	struct program program = program_start("contained", NULL);

	listener_init(&listener);
	library_load(&listener, program.pid, environment("TEST_INJECTED"));
	program_end(&program, 1);
}

/* The look before the load is another one than that at the start. */
TEST(late_filter_is_refused)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start("late", NULL);

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	ck_assert_int_eq(write(program.input, "filter\n", 7), 7);
	ck_assert_int_eq(state_wait(injection, &listener), INJECTION_FAILED);
	injection_end(injection);
	ck_assert_msg(listener_heard(&listener, "seccomp"), "%s", listener.text);
	program_end(&program, 0);
}

/* The injector is killed while the library's constructor runs. */
TEST(killed_injector_leaves_program_whole)
{
	struct program program = program_start("pause", "300");
	pid_t injector = fork();

	if (injector == 0) {
		struct listener listener;
		struct injection *injection;
		listener_init(&listener);
		if (injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection) == 0)
			pause();
		_exit(1);
	}
	mapping_wait(program.pid);
	kill(injector, SIGKILL);
	waitpid(injector, NULL, 0);
	for (int i = 0; i < 60; i++)
		usleep(10000);
	program_end(&program, 1);
}

/* If set, the process ends instead of continuing a thread with this signal, and loads nothing before. */
static int deadly_signal;

/* Instead of libc's, of which the injection uses only requests that return 0 or an error. */
long ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;

	va_start(arguments, request);
	pid_t thread = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *), *data = va_arg(arguments, void *);
	va_end(arguments);
	if (deadly_signal != 0 && request == PTRACE_CONT && (intptr_t)data == deadly_signal)
		kill(getpid(), SIGKILL);
	if (deadly_signal != 0 && request == PTRACE_GETREGS) {
		errno = ESRCH;
		return -1;
	}
	return syscall(SYS_ptrace, request, thread, address, data);
}

/* The injector is killed after a signal of the program has stopped a thread, before the thread continues. */
TEST(killed_injector_leaves_signal)
{
	struct program program = program_start("calls", NULL);
	pid_t injector = fork();
	int status;

	if (injector == 0) {
		struct listener listener;
		struct injection *injection;
		listener_init(&listener);
		deadly_signal = SIGRTMIN;
		if (injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection) == 0)
			state_wait(injection, &listener);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(injector, &status, 0), injector);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	program_end(&program, 0);
}

TEST(slow_constructor_is_not_waited_for)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start("pause", "2500");

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	mapping_wait(program.pid);
	ck_assert_int_eq(injection_state(injection), INJECTION_WAITING);
	injection_end(injection);
	ck_assert_uint_eq(lines_count(program.pid, "status", "TracerPid:\t0\n", NULL), 1);
	program_end(&program, 1);
}

/* Starts an injection that fails, and ends it. The program then is as before, but for what it did to itself. */
static struct program hostile_program(const char *mode, const char *message)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start_file(environment("TEST_HOSTILE_PROGRAM"), mode, NULL);
	char process[32];

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	ck_assert_int_eq(state_wait(injection, &listener), INJECTION_FAILED);
	injection_end(injection);
	snprintf(process, sizeof process, "process %d: ", (int)program.pid);
	ck_assert_msg(listener_heard(&listener, message) && listener_heard(&listener, process), "%s", listener.text);
	ck_assert_msg(strchr(listener.text, '\n') == strrchr(listener.text, '\n'), "%s", listener.text);
	ck_assert_uint_eq(lines_count(program.pid, "status", "TracerPid:\t0\n", NULL), 1);
	ck_assert_uint_eq(lines_count(program.pid, "maps", "injected", NULL), 0);
	fprintf(stderr, "# %s", listener.text);
	return program;
}

/* Its thread still calls, with registers that nobody changed. */
static void hostile_program_end(struct program *program)
{
	uint64_t mistakes, calls;
	int status;

	ck_assert_uint_eq(stubs_count(program->pid), 0);
	ck_assert_int_eq(write(program->input, "\n", 1), 1);
	ck_assert_int_eq(fscanf(program->output, "%" SCNu64 " %" SCNu64, &mistakes, &calls), 2);
	ck_assert_uint_eq(mistakes, 0);
	close(program->input);
	fclose(program->output);
	ck_assert_int_eq(waitpid(program->pid, &status, 0), program->pid);
	ck_assert_int_eq(status, 0);
}

static bool dispatch_is_supported(void)
{
	/* PR_SYS_DISPATCH_OFF */
	return prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0, 0, 0, 0) == 0;
}

static void withheld_files_remove(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/shm/hostile-%d/libc.so.6", (int)pid);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

/* False when Linux has no such thing. */
static bool withheld_program_start(struct program *program)
{
	*program = program_start_line(environment("TEST_HOSTILE_PROGRAM"), "memory", NULL, "ready\n");
	if (!program->output)
		withheld_files_remove(program->pid);
	return program->output != NULL;
}

TEST(replaced_instruction_is_not_run)
{
	struct program program = hostile_program("replaced", "the code of its C library was modified");

	hostile_program_end(&program);
}

TEST(thread_that_does_not_come_back_is_put_back)
{
	if (!dispatch_is_supported()) {
		fprintf(stderr, "# PR_SET_SYSCALL_USER_DISPATCH: needs Linux 5.11\n");
		return;
	}
	struct program program = hostile_program("intercepted", "did not return from a system call");

	hostile_program_end(&program);
}

/* Reading the program's memory never ends: the thread that does it is left behind. */
TEST(withheld_memory_is_not_waited_for)
{
	struct listener *listener = calloc(1, sizeof *listener); /* may be used until this process ends */
	struct injection *injection;
	char line[32];
	struct program program = { 0 };
	if (!withheld_program_start(&program)) {
		fprintf(stderr, "# userfaultfd() cannot withhold shared memory here\n");
		return;
	}

	ck_assert_ptr_nonnull(listener);
	listener_init(listener);
	ck_assert_int_eq(injection_begin(listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, program.output));
	ck_assert_str_eq(line, "wanted\n");
	injection_end(injection);
	ck_assert_msg(listener_heard(listener, "reading the memory of process"), "%s", listener->text);
	fprintf(stderr, "# %s", listener->text);
	kill(program.pid, SIGKILL);
	ck_assert_int_eq(waitpid(program.pid, NULL, 0), program.pid);
	withheld_files_remove(program.pid);
	close(program.input);
	fclose(program.output);
}

/* Locks may be held in dlopen(): the thread stays there. */
TEST(endless_dlopen_is_not_waited_for)
{
	struct program program = hostile_program("dlopen", "dlopen() has not returned");

	kill(program.pid, SIGKILL);
	ck_assert_int_eq(waitpid(program.pid, NULL, 0), program.pid);
	close(program.input);
	fclose(program.output);
}

TEST(end_of_program_is_noticed)
{
	struct listener listener;
	struct injection *injection;
	struct program program = program_start("silent", NULL);

	listener_init(&listener);
	ck_assert_int_eq(injection_begin(&listener, program.pid, environment("TEST_INJECTED"), &injection), 0);
	usleep(50000);
	program_end(&program, 0);
	ck_assert_int_ne(state_wait(injection, &listener), INJECTION_LOADED);
	injection_end(injection);
}

/*
 * The first event of a task turns on a branch in Linux's scheduler, and the last one turns it off a second later.
 * QEMU's emulated processors sometimes see code that changes in between, and the guest ends: one event that stays
 * prevents it.
 */
static void task_event_hold(void)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
					      .size = sizeof attributes,
					      .config = PERF_COUNT_SW_DUMMY };

	syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(void)
{
	if (geteuid() != 0) {
		puts("1..0 # SKIP loading a library into another process needs root");
		return 0;
	}
	if (getenv("TEST_EMULATED"))
		task_event_hold();
	return run_all_tests(300, NULL, NULL);
}
