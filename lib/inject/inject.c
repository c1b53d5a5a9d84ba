/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See inject.h. A thread stopped at an arbitrary point may hold locks of malloc() or the dynamic linker, so that
 * dlopen() on it would never return. Therefore a BPF program observes which threads enter functions that an application
 * calls from its own code, only such a thread is traced (and never interrupted), and at its next call it is stopped at
 * the function's entry, where it holds none of these locks. PTRACE_DETACH cannot release traced threads that are
 * running; only the exit of the tracing thread can. The injection therefore has a thread of its own, which exits when
 * it is done.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include "base/clock.h"
#include "base/thread.h"
#include "injection.h"
#include "traced_stop.h"

#define MILLISECOND UINT64_C(1000000)

/* How often to check whether the process has mapped a runtime. */
#define LOADER_PERIOD (500 * MILLISECOND)
/*
 * A traced thread that receives a signal waits until it is handled: polling is frequent after an event and becomes less
 * so.
 */
#define TURN_SHORT 2
#define TURN_LONG 20
#define TURN_SHORT_FOR (10 * SECOND)
/* Time after which a warning reports that no function was called yet. */
#define PATIENCE (5 * SECOND)
#define END_WAIT SECOND
/* How long the tracing thread may take to exit: longer only if it is blocked on the target's memory. */
#define JOIN_DEADLINE_S 10
/* The signal is delivered after the function's first instruction, which has at most 15 bytes. */
#define INSTRUCTION_SIZE_MAX 15u

enum injection_state injection_state(const struct injection *injection)
{
	return (enum injection_state)__atomic_load_n(&injection->state, __ATOMIC_ACQUIRE);
}

/* Seizes a thread, which neither stops it nor interrupts its system calls. */
static void caller_seize(struct injection *injection, uint32_t thread)
{
	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0) {
		call_watch_arm(&injection->watch, thread);
	} else if (errno == ESRCH) {
		call_watch_forget(&injection->watch, (uint32_t)thread);
	} else {
		target_process_explain(injection->target.pid, errno, injection->message, sizeof injection->message);
		injection_fail(injection);
	}
}

static int event_take(void *context, void *data, size_t size)
{
	struct injection *injection = context;
	const struct caller_event *event = data;

	if (size < sizeof *event || injection_state(injection) != INJECTION_WAITING || injection->load.thread)
		return 0;
	injection->news = injection->host->clock(injection->host);
	if (event->state == CALLER_SEEN) {
		caller_seize(injection, event->thread);
	} else if (event->state == CALLER_DEAF && !injection->deaf_reported) {
		injection->deaf_reported = true;
		injection->host->log(injection->host, IAPROF_LOG_WARNING,
				     "thread %" PRIu32
				     " of process %d blocks SIGURG and SIGWINCH, so %s cannot be loaded on "
				     "it (waiting for another thread to call %s)",
				     event->thread, (int)injection->target.pid, injection_library(injection),
				     injection->request->api);
	}
	return 0;
}

/* Returns whether a signal-delivery-stop is the one that the BPF program requested. */
static bool stop_is_asked_for(const struct injection *injection, uint32_t thread, int signal, struct caller *caller)
{
	siginfo_t information;

	return call_watch_has_fired(&injection->watch, thread, caller) && caller->signal == (uint32_t)signal &&
	       ptrace(PTRACE_GETSIGINFO, thread, NULL, &information) == 0 && information.si_code == SI_KERNEL;
}

/* Returns whether the thread is at the entry of the function that it called. */
static bool thread_is_at_beginning(pid_t thread, const struct caller *caller)
{
	struct user_regs_struct registers;

	return ptrace(PTRACE_GETREGS, thread, NULL, &registers) == 0 && registers.rip >= caller->address &&
	       registers.rip - caller->address <= INSTRUCTION_SIZE_MAX && (int64_t)registers.orig_rax < 0;
}

static void thread_end(struct injection *injection, pid_t thread)
{
	call_watch_forget(&injection->watch, (uint32_t)thread);
	if (thread == injection->load.thread) {
		remote_load_free(&injection->load);
		if (injection_state(injection) == INJECTION_WAITING)
			state_set(injection, INJECTION_ENDED);
	}
}

static void thread_stop(struct injection *injection, pid_t thread, int status)
{
	int signal = WSTOPSIG(status);
	struct caller caller;

	if (thread == injection->load.thread && injection->load.is_lost) {
		injection_put_back(injection);
	} else if (status >> 16 == PTRACE_EVENT_STOP) {
		/*
		 * The whole process was stopped (SIGSTOP, Ctrl-Z): stay stopped. A load in progress joins the stop at
		 * its end.
		 */
		bool stopped = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
		ptrace(stopped && thread != injection->load.thread ? PTRACE_LISTEN : PTRACE_CONT, thread, NULL, NULL);
	} else if (thread == injection->load.thread) {
		if (remote_load_is_done(&injection->load, signal)) {
			traced_stop_consume(thread);
			injection_load_finish(injection);
		} else {
			ptrace(PTRACE_CONT, thread, NULL, (void *)(intptr_t)signal);
		}
	} else if (!stop_is_asked_for(injection, (uint32_t)thread, signal, &caller)) {
		ptrace(PTRACE_CONT, thread, NULL, (void *)(intptr_t)signal);
	} else {
		traced_stop_consume(thread);
		call_watch_arm(&injection->watch, (uint32_t)thread);
		if (injection_state(injection) == INJECTION_WAITING && !injection->load.thread &&
		    !__atomic_load_n(&injection->stopping, __ATOMIC_ACQUIRE) &&
		    thread_is_at_beginning(thread, &caller)) {
			call_watch_pause(&injection->watch, true);
			injection_load_begin(injection, thread);
			if (!injection->load.thread && injection_state(injection) == INJECTION_WAITING)
				call_watch_pause(&injection->watch, false);
		} else {
			ptrace(PTRACE_CONT, thread, NULL, NULL);
		}
	}
}

/* Waits only for threads traced by this thread, not for children of the core. */
static void stops_take(struct injection *injection)
{
	int status;
	pid_t thread;

	while ((thread = traced_stop_look(-1, &status)) > 0) {
		if (WIFSTOPPED(status))
			thread_stop(injection, thread, status);
		else
			thread_end(injection, thread);
	}
}

static void functions_attach(struct injection *injection)
{
	int error = call_watch_attach(&injection->watch, &injection->target);

	if (error) {
		snprintf(injection->message, sizeof injection->message,
			 "cannot attach to the calls of %s of process %d: %s", injection->request->api,
			 (int)injection->target.pid, strerror(-error));
		injection_fail(injection);
	}
}

static void target_examine(struct injection *injection)
{
	struct target_process *target = &injection->target;
	uint64_t now = injection->host->clock(injection->host);

	/* A library that is being loaded is mapped before the thread is restored. */
	if (injection->load.thread || (injection->examined && now - injection->examined < LOADER_PERIOD))
		return;
	injection->examined = now;
	int error = target_process_examine(target, injection->message, sizeof injection->message);
	if (error == -ESRCH)
		state_set(injection, INJECTION_ENDED);
	else if (error)
		injection_fail(injection);
	else if (injection_is_done(injection))
		state_set(injection, INJECTION_LOADED);
	else
		functions_attach(injection);
}

static void waiting_report(struct injection *injection)
{
	const struct iaprof_host *host = injection->host;

	if (injection->is_reported || injection->load.thread || host->clock(host) - injection->begin < PATIENCE)
		return;
	injection->is_reported = true;
	host->log(host, IAPROF_LOG_WARNING, "process %d has not %s %s yet (%s is loaded into it when it does)",
		  (int)injection->target.pid,
		  target_process_is_watchable(&injection->target) ? "called" : "loaded the library of",
		  injection->request->api, injection_library(injection));
}

static void *tracer_run(void *argument)
{
	struct injection *injection = argument;

	injection->begin = injection->news = injection->host->clock(injection->host);
	while (injection_state(injection) == INJECTION_WAITING &&
	       !__atomic_load_n(&injection->stopping, __ATOMIC_ACQUIRE)) {
		target_examine(injection);
		stops_take(injection);
		injection_check_deadline(injection);
		if (injection_state(injection) != INJECTION_WAITING)
			break;
		waiting_report(injection);
		call_watch_wait(&injection->watch,
				injection->host->clock(injection->host) - injection->news < TURN_SHORT_FOR ? TURN_SHORT
													   : TURN_LONG);
	}

	uint64_t end = injection->host->clock(injection->host);
	call_watch_pause(&injection->watch, true);
	/* No thread must be left with a pending stop signal. */
	do {
		stops_take(injection);
		if (!injection->load.thread && !call_watch_any_has_fired(&injection->watch))
			break;
		call_watch_wait(&injection->watch, TURN_SHORT);
	} while (injection->host->clock(injection->host) - end < END_WAIT);
	if (injection->load.thread && !injection->load.is_lost && injection_state(injection) == INJECTION_WAITING) {
		snprintf(injection->message, sizeof injection->message,
			 "process %d: dlopen() has not returned on thread %d (left running)",
			 (int)injection->target.pid, (int)injection->load.thread);
		injection_fail(injection);
	}
	if (injection->load.is_lost)
		injection->host->log(injection->host, IAPROF_LOG_WARNING, "cannot stop thread %d of process %d",
				     (int)injection->load.thread, (int)injection->target.pid);
	remote_load_free(&injection->load);
	return NULL;
}

/* Detaching from the functions is slow, and no traced thread must wait for it. */
static void *injection_run(void *argument)
{
	struct injection *injection = argument;
	pthread_t tracer;
	int error = pthread_create(&tracer, NULL, tracer_run, injection);

	if (error) {
		snprintf(injection->message, sizeof injection->message, "cannot start a thread: %s", strerror(error));
		injection_fail(injection);
	} else {
		pthread_join(tracer, NULL);
	}
	call_watch_detach(&injection->watch);
	return NULL;
}

/* As injection_check(), with the target examined. */
static int check(struct injection *injection)
{
	const struct iaprof_host *host = injection->host;
	struct target_process *target = &injection->target;
	int result = target_process_check(target, host, injection->request);
	if (!result && target_process_examine(target, injection->message, sizeof injection->message))
		result = host->fail(host, ENOTSUP, "%s", injection->message);
	return result;
}

int injection_check(const struct iaprof_host *host, const struct injection_request *request)
{
	struct injection injection = { .host = host, .request = request };
	int result = check(&injection);
	target_process_free(&injection.target);
	return result;
}

int injection_start(const struct iaprof_host *host, const struct injection_request *request,
		    struct injection **injection)
{
	struct injection *created = calloc(1, sizeof *created);

	*injection = NULL;
	if (!created)
		return host->fail(host, ENOMEM, "out of memory");
	created->host = host;
	created->request = request;
	int result = check(created);
	if (result == 0 && !injection_is_done(created)) {
		result = call_watch_load(&created->watch, host, request->pid, event_take, created);
		int error = result ? 0 : thread_start(&created->thread, injection_run, created);
		created->has_thread = result == 0 && error == 0;
		if (error)
			result = host->fail(host, error, "cannot start a thread: %s", strerror(error));
	} else if (result == 0) {
		host->log(host, IAPROF_LOG_INFO, "process %d has %s already", (int)request->pid,
			  injection_library(created));
		state_set(created, INJECTION_LOADED);
	}
	if (result) {
		injection_end(created);
		return result;
	}
	*injection = created;
	return 0;
}

static bool thread_join(const struct injection *injection)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += JOIN_DEADLINE_S;
	return pthread_timedjoin_np(injection->thread, NULL, &deadline) == 0;
}

void injection_end(struct injection *injection)
{
	if (!injection)
		return;
	__atomic_store_n(&injection->stopping, 1, __ATOMIC_RELEASE);
	if (injection->has_thread && !thread_join(injection)) {
		/* The thread is blocked on the process's memory (userfaultfd or a user-space file system). */
		injection->host->log(injection->host, IAPROF_LOG_ERROR,
				     "reading the memory of process %d did not finish within %d s",
				     (int)injection->target.pid, JOIN_DEADLINE_S);
		pthread_detach(injection->thread);
		return;
	}
	if (injection->has_thread && injection_state(injection) == INJECTION_WAITING)
		injection->host->log(injection->host, IAPROF_LOG_WARNING,
				     "%s was not loaded into process %d: no thread called %s twice",
				     injection_library(injection), (int)injection->target.pid, injection->request->api);
	call_watch_free(&injection->watch);
	target_process_free(&injection->target);
	free(injection);
}
