/* SPDX-License-Identifier: Apache-2.0 */
/* One load: its start, its end, and its timeout. See injection.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include "injection.h"

/* Time limit of dlopen(), which reads files and runs the library's constructors. */
#define LOAD_DEADLINE (10 * SECOND)

void injection_fail(struct injection *injection)
{
	injection->host->log(injection->host, IAPROF_LOG_ERROR, "%s was not loaded: %s", injection_library(injection),
			     injection->message);
	state_set(injection, INJECTION_FAILED);
}

/* Message about a thread that did not return. */
static void lost_describe(struct injection *injection, pid_t thread, const char *why)
{
	snprintf(injection->message, sizeof injection->message,
		 "process %d: %s: thread %d did not return from a system call within 2 s (its registers are restored "
		 "when it does)",
		 (int)injection->target.pid, why, (int)thread);
}

/* The thread is at a function's entry: starts loading the library on it. */
void injection_load_begin(struct injection *injection, pid_t thread)
{
	struct target_process *target = &injection->target;
	const char *why = "";

	/* Check again: the process may have called execve() or loaded the library itself. */
	int error = target_process_examine(target, injection->message, sizeof injection->message);
	if (error == 0)
		error = target_process_check_thread(target, thread, injection->message, sizeof injection->message);
	if (error == 0 && injection_is_done(injection)) {
		state_set(injection, INJECTION_LOADED);
	} else if (error == 0 && target_process_is_watchable(target)) {
		injection->load_began = injection->host->clock(injection->host);
		const struct remote_library library = { .path = target->library,
							.descriptor = target->library_descriptor,
							.function = injection->request->function,
							.argument = injection->request->argument,
							.loaded_function = target->loaded_function };
		error = remote_load_begin(&injection->load, thread, &target->functions, &library, &why);
		if (error == 0)
			return;
		if (error == -ENOEXEC)
			snprintf(injection->message, sizeof injection->message,
				 "process %d: %s: the code of its C library was modified (start it under iaprof, or "
				 "with LD_PRELOAD)",
				 (int)target->pid, why);
		else if (error == -ETIMEDOUT)
			lost_describe(injection, thread, why);
		else
			snprintf(injection->message, sizeof injection->message, "process %d: %s: %s", (int)target->pid,
				 why, strerror(-error));
	}
	if (error)
		injection_fail(injection);
	if (error != -ETIMEDOUT)
		ptrace(PTRACE_CONT, thread, NULL, NULL);
}

/* The stub has called dlopen(). */
void injection_load_finish(struct injection *injection)
{
	const struct iaprof_host *host = injection->host;
	const struct target_process *target = &injection->target;
	char text[384];
	pid_t thread = injection->load.thread;
	enum remote_result result = remote_load_finish(&injection->load, text, sizeof text);

	if (result == REMOTE_LOST) {
		lost_describe(injection, thread, "unmap memory in it");
		injection_fail(injection);
		return;
	}
	ptrace(PTRACE_DETACH, thread, NULL, NULL);
	if (result == REMOTE_LOADED) {
		host->log(host, IAPROF_LOG_INFO, "loaded %s into process %d, on its thread %d",
			  injection_library(injection), (int)target->pid, (int)thread);
		state_set(injection, INJECTION_LOADED);
	} else if (result == REMOTE_THREAD_ENDED) {
		state_set(injection, INJECTION_ENDED);
	} else {
		snprintf(injection->message, sizeof injection->message, "process %d: dlopen: %s", (int)target->pid,
			 text);
		injection_fail(injection);
	}
}

/* A lost thread has stopped. */
void injection_put_back(struct injection *injection)
{
	if (!remote_load_put_back(&injection->load))
		injection->host->log(injection->host, IAPROF_LOG_WARNING,
				     "process %d: cannot restore the registers of its thread",
				     (int)injection->target.pid);
}

/*
 * The thread is inside dlopen() and may hold locks of the dynamic linker, so its registers are not restored: the stub
 * does so when dlopen() returns.
 */
void injection_check_deadline(struct injection *injection)
{
	if (!injection->load.thread || injection->load.is_lost ||
	    injection->host->clock(injection->host) - injection->load_began < LOAD_DEADLINE)
		return;
	snprintf(injection->message, sizeof injection->message,
		 "process %d: dlopen() has not returned on thread %d for 10 s (left running)",
		 (int)injection->target.pid, (int)injection->load.thread);
	injection_fail(injection);
	remote_load_free(&injection->load);
}
