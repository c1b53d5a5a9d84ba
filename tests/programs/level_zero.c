/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that calls Level Zero from two threads, while others do what is easily disturbed, and that counts every
 * mistake: registers that change, system calls that are interrupted, signals that are lost.
 *
 *     level_zero LOADER MODE [PAUSE]
 *
 * LOADER is the library to call. Modes: calls, late (loads it and calls only after a line came on the input; behind a
 * seccomp filter when the line is "filter"), silent
 * (loads it and never calls), deaf (calls with all signals blocked), pause (calls; the injected library takes PAUSE
 * ms). Prints "ready", ends when the input does, and prints the counts; its status is 0 when there was no mistake.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

struct registers_pattern {
	uint8_t vectors[16][32];
	uint64_t general[14];
};
int registers_survive(void (*function)(void), const struct registers_pattern *pattern);

__attribute__((visibility("default"))) uint32_t injected_count, injected_pause;

enum mistake { REGISTERS, ERRNO, SIGNAL_MASK, INTERRUPTED, WRONG_RESULT, MISTAKE_COUNT };
static const char *const mistake_names[] = { "registers", "errno", "signal-mask", "interrupted", "wrong-result" };

static uint64_t mistakes[MISTAKE_COUNT], calls, turns, sent, received;
static bool ending, signals_ending;
static const char *const function_names[] = { "zeEventQueryStatus", "zeCommandListAppendLaunchKernel",
					      "zeCommandQueueExecuteCommandLists", "zeCommandQueueSynchronize",
					      "zeCommandListReset" };
#define FUNCTION_COUNT (sizeof function_names / sizeof function_names[0])
static void (*functions[FUNCTION_COUNT])(void);

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static bool is_ending(void)
{
	return __atomic_load_n(&ending, __ATOMIC_ACQUIRE);
}

static void result_check(long result, long expected)
{
	if (result == -1 && errno == EINTR)
		count(&mistakes[INTERRUPTED]);
	else if (result != expected)
		count(&mistakes[WRONG_RESULT]);
}

static void level_zero_call(uint64_t turn)
{
	struct registers_pattern pattern;
	sigset_t before = { 0 }, after = { 0 };

	for (size_t i = 0; i < sizeof pattern; i++)
		((uint8_t *)&pattern)[i] = (uint8_t)(turn + i * 7);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = (int)(turn % 100);
	if (registers_survive(functions[turn % FUNCTION_COUNT], &pattern) != 0)
		count(&mistakes[REGISTERS]);
	if (errno != (int)(turn % 100))
		count(&mistakes[ERRNO]);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	if (memcmp(&before, &after, sizeof before) != 0)
		count(&mistakes[SIGNAL_MASK]);
	count(&calls);
}

static void signal_received(int signal)
{
	count(&received);
}

static void signals_block(bool only_counted)
{
	sigset_t signals;

	sigfillset(&signals);
	if (only_counted) {
		sigemptyset(&signals);
		sigaddset(&signals, SIGRTMIN);
	}
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

/* Gets signals, and calls without pause. */
static void *caller_run(void *argument)
{
	for (uint64_t turn = 0; !is_ending(); turn++) {
		level_zero_call(turn);
		if (turn % 64 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return argument;
}

/* Gets no signals, so no system call of it may be interrupted. */
static void *waiter_run(void *argument)
{
	int ends[2], epoll = epoll_create1(EPOLL_CLOEXEC);
	char byte = 0;

	signals_block(*(const char *)argument != 'd');
	result_check(pipe2(ends, O_CLOEXEC), 0);
	for (uint64_t turn = 1; !is_ending(); turn++) {
		struct epoll_event event;
		struct pollfd pollfd = { .fd = ends[0], .events = POLLIN };
		if (functions[0])
			level_zero_call(turn);
		result_check(nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL), 0);
		result_check(poll(&pollfd, 1, 1), 0);
		result_check(epoll_wait(epoll, &event, 1, 1), 0);
		result_check(write(ends[1], &byte, 1), 1);
		result_check(read(ends[0], &byte, 1), 1);
		count(&turns);
	}
	return NULL;
}

static void *sleeper_run(void *argument)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	signals_block(true);
	while (!is_ending()) {
		struct timespec until;
		struct epoll_event event;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 2000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&mutex);
		if (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
			count(&mistakes[WRONG_RESULT]);
		pthread_mutex_unlock(&mutex);
		result_check(epoll_wait(epoll, &event, 1, 3), 0);
		count(&turns);
	}
	return argument;
}

static void *allocator_run(void *argument)
{
	void *blocks[64] = { NULL };

	signals_block(true);
	for (size_t i = 0; !is_ending(); i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = malloc(16 + i % 5000);
		if (i % 4096 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
	for (size_t i = 0; i < 64; i++)
		free(blocks[i]);
	return argument;
}

static void *linker_run(void *argument)
{
	signals_block(true);
	while (!is_ending()) {
		void *library = dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
		if (library)
			dlclose(library);
		count(&turns);
	}
	return argument;
}

static void *forker_run(void *argument)
{
	signals_block(true);
	while (!is_ending()) {
		int status = 0;
		pid_t child = fork();
		if (child == 0) {
			if (functions[0])
				functions[0]();
			_exit(7);
		}
		result_check(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			count(&mistakes[WRONG_RESULT]);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	return argument;
}

/* Each is queued: none may be lost. */
static void *signaller_run(void *argument)
{
	pthread_t caller = *(pthread_t *)argument;

	signals_block(true);
	while (!__atomic_load_n(&signals_ending, __ATOMIC_ACQUIRE)) {
		union sigval value = { 0 };
		if (__atomic_load_n(&sent, __ATOMIC_RELAXED) - __atomic_load_n(&received, __ATOMIC_RELAXED) < 100) {
			if (sigqueue(getpid(), SIGRTMIN, value) == 0)
				count(&sent);
			if (pthread_sigqueue(caller, SIGRTMIN, value) == 0)
				count(&sent);
		}
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	return NULL;
}

static void loader_open(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		void *function = dlsym(library, function_names[i]);
		memcpy(&functions[i], &function, sizeof function);
	}
}

static void seccomp_filter_install(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_swapon, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: level_zero LOADER calls|late|silent|deaf|pause [PAUSE]\n");
		return 2;
	}
	const char *mode = argv[2];
	bool quiet = strcmp(mode, "silent") == 0 || strcmp(mode, "deaf") == 0;
	pthread_t threads[8];
	size_t thread_count = 0;
	char line[16];

	injected_pause = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
	sigaction(SIGRTMIN, &(struct sigaction){ .sa_handler = signal_received, .sa_flags = SA_RESTART }, NULL);
	if (strcmp(mode, "late") == 0) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin))
			return 0;
		if (strcmp(line, "filter\n") == 0)
			seccomp_filter_install();
	}
	loader_open(argv[1]);
	if (quiet) {
		if (mode[0] == 's')
			memset(functions, 0, sizeof functions);
		pthread_create(&threads[thread_count++], NULL, waiter_run, (void *)(uintptr_t)mode);
	} else {
		pthread_create(&threads[thread_count++], NULL, caller_run, NULL);
		pthread_create(&threads[thread_count++], NULL, waiter_run, (void *)(uintptr_t)mode);
		pthread_create(&threads[thread_count++], NULL, sleeper_run, NULL);
		pthread_create(&threads[thread_count++], NULL, allocator_run, NULL);
		pthread_create(&threads[thread_count++], NULL, allocator_run, NULL);
		pthread_create(&threads[thread_count++], NULL, linker_run, NULL);
		pthread_create(&threads[thread_count++], NULL, forker_run, NULL);
		pthread_create(&threads[thread_count++], NULL, signaller_run, &threads[0]);
	}
	if (strcmp(mode, "late") != 0) {
		puts("ready");
		fflush(stdout);
	}
	signals_block(true);
	while (fgets(line, sizeof line, stdin))
		;
	/* The signaller ends first, so that the caller takes what it sent. */
	__atomic_store_n(&signals_ending, true, __ATOMIC_RELEASE);
	if (!quiet)
		pthread_join(threads[--thread_count], NULL);
	__atomic_store_n(&ending, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	sigset_t none;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);

	uint64_t sum = sent - received;
	printf("calls %" PRIu64 "\nturns %" PRIu64 "\ninjected %" PRIu32 "\nsignals-sent %" PRIu64
	       "\nsignals-received %" PRIu64 "\n",
	       calls, turns, injected_count, sent, received);
	for (size_t i = 0; i < MISTAKE_COUNT; i++) {
		printf("%s %" PRIu64 "\n", mistake_names[i], mistakes[i]);
		sum += mistakes[i];
	}
	return sum == 0 ? 0 : 1;
}
