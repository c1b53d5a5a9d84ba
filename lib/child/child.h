/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes: their start, the channel to them (child/channel.h), their CPU time and their end. No function
 * waits without a limit. A child belongs to one thread, except for its atomic members.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/deadline.h"

/* Descriptor of its end of the channel in a child that executes a program. */
#define CHILD_CHANNEL 3
/* Number of descriptors that it can have beside it. */
#define CHILD_PASSED_MAX 3
/* Exit status of a child whose program could not be executed. */
#define CHILD_NOT_EXECUTED 127
/* A killed process ends within microseconds, unless it is blocked in the Linux kernel by a device or a server, ns. */
#define CHILD_KILL_TIME (NANOSECONDS_PER_SECOND / 100)

/* Initialise with CHILD_NONE. */
struct child {
	_Atomic(pid_t) pid;             /* 0: none, or it has been waited for */
	struct delayed_process delayed; /* for deadlines of answers */
	int descriptor;                 /* pidfd, readable when it has ended; -1: none */
	int channel;                    /* this end; -1: none */
	int status;                     /* from waitpid(2), after its end; -1: unknown */
	uint64_t spent;                 /* CPU time of earlier processes, ns */
	/* At the last child_cpu_time(): CPU time of the process, that of its ended children, and whether others ran. */
	uint64_t own, ended;
	bool has_children;
	bool is_leader; /* as in struct child_setup */
};
#define CHILD_NONE                                                                                                     \
	{                                                                                                              \
		.descriptor = -1, .channel = -1, .status = -1                                                          \
	}

struct child_setup {
	/* A program, which has default signal settings. Its end of the channel is CHILD_CHANNEL. */
	const char *path;
	char *const *arguments;   /* NULL-terminated */
	char *const *environment; /* NULL: that of this process */
	/* Descriptors that become CHILD_CHANNEL + 1 and those after it; all others are closed. 0 or -1: none. */
	int passed[CHILD_PASSED_MAX];
	/*
	 * If path is NULL: runs in a copy of this process, with its signal settings and descriptors, and ends when it
	 * returns. channel: its end. Only async-signal-safe functions if this process has threads.
	 */
	void (*run)(void *context, int channel);
	void *context;
	int channel;           /* SOCK_STREAM, SOCK_SEQPACKET, or 0: none */
	const int *streams;    /* descriptors that become 0, 1 and 2; -1: /dev/null; NULL: those of this process */
	bool is_leader;        /* of a session: signals of a terminal do not reach it, and its group ends with it */
	bool dies_with_us;     /* is killed when the calling thread ends */
	void (*prepare)(void); /* called in the child after all of this; async-signal-safe */
};

/* Starts a process. child: none, or one that was closed. Returns 0 or a negative errno. */
int child_start(struct child *child, const struct child_setup *setup);
/* In a child made by fork(2): has it killed when its parent ends. Returns false if that has happened. */
bool child_die_with(pid_t parent);

/* Waits for the end of the process for duration ns. Returns whether it has ended. */
bool child_wait(struct child *child, uint64_t duration);
/* Kills the process, if there is one, and waits for its end for duration ns. */
void child_kill(struct child *child, uint64_t duration);
/* Kills the process as well, closes all, and keeps its CPU time and its status. */
void child_close(struct child *child);
/* The same without killing the process, which is not waited for. */
void child_forget(struct child *child);

/* Returns the CPU time of all processes of this child and their children, in ns. */
uint64_t child_cpu_time(struct child *child);

/* Writes the cause of an end by its wait status: "ended with status 3" or "was killed by SIGKILL". Returns text. */
#define CHILD_CAUSE_SIZE 64
const char *child_cause(int status, char text[CHILD_CAUSE_SIZE]);
