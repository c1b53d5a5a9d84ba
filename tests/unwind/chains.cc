/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call chains that are known by construction, for test_stacks.py: each scenario works in spin() or spin_frameless(), called
 * through functions whose frames are of one kind. A chain is written behind the scenario's name.
 */
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <unistd.h>

#include "keep.h"

static volatile unsigned long turns;
static volatile bool forever = true;

KEEP void spin(void)
{
	for (unsigned long i = 0; i < 200000; i++)
		turns = turns + i;
}

/* No rule of the compiler's: the one of the assembler. */
asm(".text\n.type spin_frameless, @function\n.globl spin_frameless\nspin_frameless:\n.cfi_startproc\n"
    "mov $2000000, %ecx\n1: dec %ecx\njnz 1b\nret\n.cfi_endproc\n.size spin_frameless, .-spin_frameless\n");
extern "C" void spin_frameless(void);

#define INNERMOST spin
#define INNERMOST_FRAMELESS spin_frameless
#include "shapes.h"

KEEP void large_frame(void)
{
	volatile char room[100000];
	room[0] = room[sizeof room - 1] = 1;
	spin();
	AFTER;
}

/* With all registers in use, the frame pointer among them. */
KEEP void many_registers(long a, long b, long c, long d, long e, long f)
{
	long g = a ^ b, h = c ^ d, i = e ^ f, j = a + c, k = b + d, l = c + e, m = d + f;
	for (int n = 0; n < 3; n++) {
		spin();
		asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
		asm volatile("" : "+r"(g), "+r"(h), "+r"(i), "+r"(j), "+r"(k));
		g += h * i + j * k + l * m + a + b + c + d + e + f;
	}
	turns = turns + (unsigned long)g;
	AFTER;
}

/* A signal at any instruction, as timers send it. */
KEEP void interrupted_anywhere(void)
{
	for (int i = 0; i < 100; i++)
		spin_frameless();
	AFTER;
}

KEEP void in_clock(void)
{
	timespec time;
	for (int i = 0; i < 100000; i++)
		clock_gettime(CLOCK_MONOTONIC, &time);
	AFTER;
}

static int compare(const void *left, const void *right)
{
	spin();
	return *(const int *)left - *(const int *)right;
}

/* Called by a library. */
KEEP void through_library(void)
{
	int numbers[] = { 3, 1, 2, 5, 4 };
	qsort(numbers, 5, sizeof *numbers, compare);
	AFTER;
}

KEEP void *in_thread(void *)
{
	while (forever)
		spin();
	return NULL;
}

KEEP void threads(void)
{
	pthread_t other;
	pthread_create(&other, NULL, in_thread, NULL);
	pthread_join(other, NULL);
}

static void handle(int number, int flags)
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(number, &action, NULL);
}

static void other_stack(void)
{
	stack_t stack;
	memset(&stack, 0, sizeof stack);
	stack.ss_sp = malloc(1 << 16);
	stack.ss_size = 1 << 16;
	sigaltstack(&stack, NULL);
}

/* The period shares no beat with that of samples, 1,001 us: a sample finds any moment of it. */
static void start_timer(void)
{
	timer_t timer;
	sigevent event;
	memset(&event, 0, sizeof event);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	itimerspec period = { { 0, 1317000 }, { 0, 1317000 } };
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &period, NULL);
}

int main(int argc, char **argv)
{
	const char *scenario = argc > 1 ? argv[1] : "";
	auto is = [&](const char *name) { return strcmp(scenario, name) == 0; };
	handle(SIGUSR1, is("signal-stack") ? SA_ONSTACK : 0);
	if (is("signal-stack"))
		other_stack();
	if (is("timer"))
		start_timer();
	while (forever) {
		if (is("frameless"))
			frameless_one();
		else if (is("alloca"))
			with_alloca(1000 + turns % 7);
		else if (is("realigned"))
			realigned(1000 + turns % 7);
		else if (is("large"))
			large_frame();
		else if (is("registers"))
			many_registers(argc, 2, 3, 4, 5, 6);
		else if (is("recursion"))
			recursive(60);
		else if (is("tail"))
			tail_jump();
		else if (is("signal") || is("signal-stack"))
			interrupted();
		else if (is("timer"))
			interrupted_anywhere();
		else if (is("exception"))
			catcher();
		else if (is("vdso"))
			in_clock();
		else if (is("library"))
			through_library();
		else if (is("thread"))
			threads();
		else
			return 2;
		AFTER;
	}
	return 0;
}
