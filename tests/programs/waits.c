/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in known functions and knows for how long: waits, which waits for a byte on standard input, or waits storm, a
 * ping-pong of two threads over pipes. Prints "function nanoseconds nanoseconds": the time of the calls, and that
 * without the time for which the thread had a CPU. WAITS_HELPER_NAME is the name of the thread that wakes the first
 * one.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEEP __asm__ volatile("")
#define ROUNDS 10
#define MILLISECOND 1000000L
#define STORM_ROUNDS 100000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int request[2], answer[2], sockets[2];

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

struct watch {
	uint64_t begin, begin_running;
	uint64_t time, running;
};

/* clock: time for which the thread has had a CPU */
static void watch_begin(struct watch *watch, clockid_t clock)
{
	watch->begin = read_clock(CLOCK_MONOTONIC);
	watch->begin_running = read_clock(clock);
}

static void watch_end(struct watch *watch, clockid_t clock)
{
	watch->running += read_clock(clock) - watch->begin_running;
	watch->time += read_clock(CLOCK_MONOTONIC) - watch->begin;
}

static void watch_print(const struct watch *watch, const char *name)
{
	printf("%s %" PRIu64 " %" PRIu64 "\n", name, watch->time, watch->time - watch->running);
}

static void pause_for(long milliseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = milliseconds * MILLISECOND }, NULL);
}

static char receive(int descriptor)
{
	char byte = 0;
	if (read(descriptor, &byte, 1) != 1)
		exit(1);
	return byte;
}

static void transmit(int descriptor, char byte)
{
	if (write(descriptor, &byte, 1) != 1)
		exit(1);
}

__attribute__((noinline)) static void wait_for_start(void)
{
	receive(0);
	KEEP;
}

__attribute__((noinline)) static void wait_asleep(struct watch *watch)
{
	watch_begin(watch, CLOCK_THREAD_CPUTIME_ID);
	pause_for(30);
	watch_end(watch, CLOCK_THREAD_CPUTIME_ID);
	KEEP;
}

__attribute__((noinline)) static void wait_in_pipe(struct watch *watch)
{
	watch_begin(watch, CLOCK_THREAD_CPUTIME_ID);
	receive(answer[0]);
	watch_end(watch, CLOCK_THREAD_CPUTIME_ID);
	KEEP;
}

__attribute__((noinline)) static void wait_in_socket(struct watch *watch)
{
	watch_begin(watch, CLOCK_THREAD_CPUTIME_ID);
	receive(sockets[0]);
	watch_end(watch, CLOCK_THREAD_CPUTIME_ID);
	KEEP;
}

__attribute__((noinline)) static void wait_for_mutex(struct watch *watch)
{
	watch_begin(watch, CLOCK_THREAD_CPUTIME_ID);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	watch_end(watch, CLOCK_THREAD_CPUTIME_ID);
	KEEP;
}

__attribute__((noinline)) static void wait_in_poll(struct watch *watch)
{
	watch_begin(watch, CLOCK_THREAD_CPUTIME_ID);
	poll(NULL, 0, 25);
	watch_end(watch, CLOCK_THREAD_CPUTIME_ID);
	KEEP;
}

__attribute__((noinline)) static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void *sleeper(void *nothing)
{
	wait_for_ever();
	return nothing;
}

/* Does what it is asked for, 20 ms later. */
__attribute__((noinline)) static void wake(char what)
{
	pause_for(20);
	if (what == 'm')
		pthread_mutex_unlock(&mutex);
	else
		transmit(what == 'p' ? answer[1] : sockets[1], what);
	KEEP;
}

static void *helper(void *nothing)
{
	for (;;) {
		char what = receive(request[0]);
		if (what == 'm') {
			pthread_mutex_lock(&mutex);
			transmit(answer[1], what);
		}
		wake(what);
	}
	return nothing;
}

static void ask(char what)
{
	transmit(request[1], what);
	if (what == 'm')
		receive(answer[0]);
}

static const struct {
	const char *name;
	/* Reads the clocks itself, so that a wait while it does so is one in this function. */
	void (*wait)(struct watch *watch);
	char what; /* asked of the helper; 0: nothing */
} waits[] = {
	{ "wait_asleep", wait_asleep, 0 },         { "wait_in_pipe", wait_in_pipe, 'p' },
	{ "wait_in_socket", wait_in_socket, 's' }, { "wait_for_mutex", wait_for_mutex, 'm' },
	{ "wait_in_poll", wait_in_poll, 0 },
};
#define WAIT_COUNT (sizeof waits / sizeof *waits)

__attribute__((noinline)) static void *echo(void *nothing)
{
	for (;;)
		transmit(answer[1], receive(request[0]));
	return nothing;
}

__attribute__((noinline)) static void storm(void)
{
	for (int i = 0; i < STORM_ROUNDS; i++) {
		transmit(request[1], 'x');
		receive(answer[0]);
	}
	KEEP;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	struct watch watches[WAIT_COUNT] = { 0 };
	if (pipe(request) || pipe(answer) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	if (count > 1 && !strcmp(arguments[1], "storm")) {
		struct watch watch = { 0 }, echo_watch = { 0 };
		clockid_t clock;
		wait_for_start();
		pthread_create(&thread, NULL, echo, NULL);
		pthread_getcpuclockid(thread, &clock);
		watch_begin(&watch, CLOCK_THREAD_CPUTIME_ID);
		watch_begin(&echo_watch, clock);
		storm();
		watch_end(&echo_watch, clock);
		watch_end(&watch, CLOCK_THREAD_CPUTIME_ID);
		watch_print(&watch, "storm");
		watch_print(&echo_watch, "echo");
		return 0;
	}
	pthread_create(&thread, NULL, sleeper, NULL);
	pthread_create(&thread, NULL, helper, NULL);
	if (getenv("WAITS_HELPER_NAME"))
		pthread_setname_np(thread, getenv("WAITS_HELPER_NAME"));
	wait_for_start();
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < WAIT_COUNT; i++) {
			if (waits[i].what)
				ask(waits[i].what);
			waits[i].wait(&watches[i]);
		}
	for (size_t i = 0; i < WAIT_COUNT; i++)
		watch_print(&watches[i], waits[i].name);
	fflush(stdout);
	wait_for_start();
	return 0;
}
