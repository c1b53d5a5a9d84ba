/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a stopped thread of another process load a library and call a function of it. To be called on the thread that
 * seized the other one (PTRACE_SEIZE with PTRACE_O_TRACESYSGOOD), because Linux allows ptrace() to no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <iaprof/host.h>
#include "remote_stub.h"

/* Addresses in the other process. */
struct remote_functions {
	uint64_t open_function;   /* dlopen */
	uint64_t error_function;  /* dlerror */
	uint64_t errno_function;  /* __errno_location */
	uint64_t symbol_function; /* dlsym */
	uint64_t system_call;     /* a SYSCALL instruction */
};

/* Saved state of a thread; opaque. */
struct remote_state;

/* A load in progress, or none. Initialise with {0}. */
struct remote_load {
	pid_t thread;       /* 0: none */
	uint64_t stub;      /* address of the stub; 0: not mapped */
	bool is_executable; /* the stub */
	bool is_lost;       /* the thread did not return in time and runs with foreign registers */
	int file;           /* its descriptor of a copy of the library; -1: none; 0 before remote_load_begin() */
	struct remote_functions functions;
	struct remote_state *state;
};

/* What to load. */
struct remote_library {
	const char *path;
	int descriptor; /* of the file, if the process does not see it under this path; otherwise -1 */
	const char *function,
		*argument;        /* that it exports and that is called with a copy of the argument; NULL: none */
	uint64_t loaded_function; /* its address, if the library is loaded already; 0: it is not */
};

enum remote_result { REMOTE_LOADED, REMOTE_REFUSED, REMOTE_THREAD_ENDED, REMOTE_BROKEN, REMOTE_LOST };

/* Returns whether this machine's registers fit into the stub. */
bool remote_load_is_possible(void);

/*
 * Starts loading a library: thread, which is in a signal-delivery-stop, continues in the stub. Returns 0 (the thread
 * runs), or a negative errno with *why, a static text: then the thread is stopped with its own registers, as before, or
 * gone
 * (-ESRCH). -ENOEXEC: the process has no SYSCALL instruction where its file has one. -ETIMEDOUT: the thread did not
 * return from a system call; load->is_lost is set, the thread was asked to stop, and remote_load_put_back() is to be
 * called at its next stop.
 */
int remote_load_begin(struct remote_load *load, pid_t thread, const struct remote_functions *functions,
		      const struct remote_library *library, const char **why);

/* Returns whether a signal-delivery-stop of the loading thread is the stub's. */
bool remote_load_is_done(const struct remote_load *load, int signal);

/*
 * After that stop: removes the stub and restores the thread's registers. The thread stays stopped, for PTRACE_DETACH or
 * PTRACE_CONT. message receives dlerror()'s text, made printable, for REMOTE_REFUSED, and a reason for REMOTE_BROKEN.
 * REMOTE_LOST: as -ETIMEDOUT of remote_load_begin(); the load is kept.
 */
enum remote_result remote_load_finish(struct remote_load *load, char *message, size_t message_size);

/* At any stop of a lost thread: restores its registers and detaches. Returns whether it has its registers. */
bool remote_load_put_back(struct remote_load *load);

/* Forgets a load. A load in progress continues: the stub ends it by itself. */
void remote_load_free(struct remote_load *load);
