/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names the plugin that crashes: see plugin_call.h. A signal handler can access only file-scope and thread-local state.
 */
#include "plugin/plugin_call.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizer.h"

/* Room for the handler and the largest signal frame of current processors (AVX-512, AMX: 11 KiB). */
#define SIGNAL_STACK_SIZE (32 << 10)

/* Longest wait for a reader of standard error, in ms. */
#define READER_PATIENCE 100

static _Thread_local struct plugin_call current;
static _Thread_local volatile unsigned calls, examined_call; /* calls begun by the thread */
/* A signal stack for each thread, because the thread's own stack may have overflowed. */
static _Thread_local _Alignas(16) char signal_stack[SIGNAL_STACK_SIZE];
static _Thread_local bool has_signal_stack;

static atomic_int watching_process; /* 0: no handlers are installed */
static void (*clean_up)(void);      /* set before watching_process */
static atomic_int failure_status = 1;
static void (*report_failure)(int failure, const char *callback);
static void (*report_end)(const char *callback, const char *what); /* set before watching_process */
static void (*note_callback)(const char *callback);

static const struct fatal_signal {
	int number;
	const char *name;
} fatal_signals[] = {
	{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" }, { SIGFPE, "SIGFPE" }, { SIGILL, "SIGILL" }, { SIGABRT, "SIGABRT" }
};

struct plugin_call plugin_call_begin(const char *kind, const char *name, const char *callback)
{
	struct plugin_call before = current;
	if (!HAS_SANITIZER && !has_signal_stack) {
		stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof signal_stack };
		has_signal_stack = true;
		sigaltstack(&stack, NULL);
	}
	current.callback = NULL; /* a signal in between never sees inconsistent members */
	atomic_signal_fence(memory_order_seq_cst);
	current.kind = kind;
	current.name = name;
	atomic_signal_fence(memory_order_seq_cst);
	current.callback = callback;
	calls++;
	if (note_callback)
		note_callback(callback);
	return before;
}

void plugin_call_end(const struct plugin_call *before)
{
	current.callback = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	current.kind = before->kind;
	current.name = before->name;
	atomic_signal_fence(memory_order_seq_cst);
	current.callback = before->callback;
	if (note_callback)
		note_callback(before->callback);
}

static void append_text(char *line, size_t size, const char *text)
{
	size_t length = strlen(line), room = size - 1 - length, count = strlen(text);
	memcpy(line + length, text, count < room ? count : room);
	line[length + (count < room ? count : room)] = '\0';
}

_Noreturn void process_exit_immediately(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

/* Prints one line and ends the process. Async-signal-safe. what: "crashed with SIGSEGV", for example. */
static _Noreturn void end_process(const struct plugin_call *call, const char *what)
{
	char line[512] = "iaprof: ";
	if (report_end) {
		report_end(call->callback, what);
		process_exit_immediately(1);
	}
	clean_up();
	if (call->callback) {
		append_text(line, sizeof line - 1, call->kind);
		append_text(line, sizeof line - 1, " ");
		append_text(line, sizeof line - 1, call->name);
		append_text(line, sizeof line - 1, ": ");
	}
	append_text(line, sizeof line - 1, what);
	if (call->callback) {
		append_text(line, sizeof line - 1, " in callback ");
		append_text(line, sizeof line - 1, call->callback);
	}
	append_text(line, sizeof line, "\n");
	/* Does not block on a full pipe, which may have no reader. */
	struct pollfd standard_error = { .fd = STDERR_FILENO, .events = POLLOUT };
	if (poll(&standard_error, 1, READER_PATIENCE) > 0) {
		ssize_t written = write(STDERR_FILENO, line, strlen(line));
		(void)written;
	}
	process_exit_immediately(failure_status);
}

static void handle(int number)
{
	/* The end of a child that a plugin forked is not the end of the run. */
	if (current.callback && getpid() == atomic_load(&watching_process))
		for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++)
			if (fatal_signals[i].number == number) {
				char what[64] = "crashed with ";
				append_text(what, sizeof what, fatal_signals[i].name);
				end_process(&current, what);
			}
	/* The fault occurs again when the handler returns; other signals are raised again. */
	signal(number, SIG_DFL);
	raise(number);
}

/* Called by exit(), or when main() has returned. */
static void at_exit(void)
{
	if (getpid() != atomic_load(&watching_process))
		return;
	end_process(&current, current.callback ? "called exit()" : "a thread of a plugin called exit()");
}

_Noreturn void plugin_call_exit(int status)
{
	if (current.callback && getpid() == atomic_load(&watching_process))
		end_process(&current, "called _exit()");
	if (current.callback && report_failure)
		report_failure(PLUGIN_FAILURE_EXIT_AT_ONCE, current.callback);
	process_exit_immediately(status);
}

static void install(void (*handler)(int number))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; !HAS_SANITIZER && i < sizeof fatal_signals / sizeof *fatal_signals; i++)
		sigaction(fatal_signals[i].number, &action, NULL);
}

void plugin_call_watch(void (*before_end)(void))
{
	clean_up = before_end;
	atomic_store(&watching_process, getpid());
	atexit(at_exit);
	at_quick_exit(at_exit);
	install(handle);
}

void plugin_call_set_failure_status(int status)
{
	failure_status = status;
}

int plugin_call_failure_status(void)
{
	return failure_status;
}

void plugin_call_isolate(void (*report)(const char *callback, const char *what), void (*note)(const char *callback))
{
	note_callback = note;
	report_end = report;
	plugin_call_watch(NULL);
}

const char *plugin_call_callback(void)
{
	return current.callback ? current.callback : "";
}

static void handle_in_helper(int number)
{
	if (current.callback)
		report_failure(number, current.callback);
	process_exit_immediately(1);
}

static void at_exit_of_helper(void)
{
	if (current.callback)
		handle_in_helper(PLUGIN_FAILURE_EXIT);
}

static void examine(int number)
{
	if (current.callback && calls == examined_call)
		handle_in_helper(PLUGIN_FAILURE_HANG);
	examined_call = calls;
}

void plugin_call_report_failures(void (*report)(int failure, const char *callback))
{
	struct sigaction action = { .sa_handler = examine, .sa_flags = SA_ONSTACK | SA_RESTART };
	report_failure = report;
	install(handle_in_helper);
	sigaction(PLUGIN_EXAMINE_SIGNAL, &action, NULL);
	atexit(at_exit_of_helper);
	at_quick_exit(at_exit_of_helper);
}

void plugin_call_unwatch(void)
{
	atomic_store(&watching_process, 0);
}
