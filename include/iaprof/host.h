/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/host.h - what the core does for a plugin instance.
 *
 * Every callback gets a host pointer; it is the same one from configure() to destroy(). A plugin links to nothing of
 * ours: all calls go through these members. Members are only appended; IAPROF_HOST_HAS() tells whether a core is new
 * enough to have one.
 *
 * Threads: a member may be called from the threads that its comment names. "Any" means any thread of the instance,
 * between the start of prepare() and the return of stop().
 */
#ifndef IAPROF_HOST_H
#define IAPROF_HOST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <iaprof/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define IAPROF_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define IAPROF_PRINTF(text, first)
#endif

enum iaprof_log_level {
	IAPROF_LOG_ERROR = 0,   /* shown always; prefer fail() for what ends something */
	IAPROF_LOG_WARNING = 1, /* shown unless -q */
	IAPROF_LOG_INFO = 2,    /* shown with -v */
	IAPROF_LOG_DEBUG = 3    /* shown with -vv */
};

enum iaprof_scope {
	IAPROF_SCOPE_SYSTEM = 0, /* everything on the machine */
	IAPROF_SCOPE_PIDS = 1,   /* the processes in pids, all their threads, not their children */
	IAPROF_SCOPE_COMMAND = 2 /* the command that iaprof runs and all its descendants */
};

enum iaprof_target_flag {
	IAPROF_TARGET_RECORDED = 1u << 0 /* all that there is happened before, as in a replay: nothing can be missed */
};

/* What to profile. Valid from prepare() on. */
struct iaprof_target {
	uint32_t size;        /* sizeof(struct iaprof_target) in the core */
	uint32_t scope;       /* enum iaprof_scope */
	const uint32_t *pids; /* IAPROF_SCOPE_PIDS: the processes; else NULL */
	uint32_t pid_count;
	uint32_t command_pid; /* the command's process, held before its exec until every start() returned; 0 none */
	uint64_t interval;    /* ns between profiles, 0: only one at the end; that the user asked for */
	/*
	 * Appended: a shorter struct has none. ns: sinks want to know when within a run something was, in slots of this
	 * length, which begin at its multiples; a source that adds up samples keeps those of different slots apart. 0:
	 * nobody asks.
	 */
	uint64_t time_resolution;
	uint32_t flags; /* enum iaprof_target_flag */
	uint32_t pad;
};

/* What a sink needs from the symbolizer; it asks for it in configure(). */
enum iaprof_request {
	IAPROF_REQUEST_LINES = 1u << 0, /* source lines and inlined functions, from DWARF */
	IAPROF_REQUEST_PIDS = 1u << 1,  /* stacks of different processes kept apart by pid */
	/* Under a device instruction that waits for others, frames with IAPROF_FRAME_PRODUCER for those. */
	IAPROF_REQUEST_PRODUCERS = 1u << 2,
	/* CODE_LISTING records of functions of devices that have samples; for sinks that take records. */
	IAPROF_REQUEST_LISTINGS = 1u << 3
};

/* What host->check_item() says of something that a complete profile needs. */
enum iaprof_check_state {
	IAPROF_CHECK_GOOD = 0,    /* it is here */
	IAPROF_CHECK_LIMITED = 1, /* the profile is poorer without it */
	IAPROF_CHECK_MISSING = 2  /* there is no profile without it */
};

struct iaprof_output; /* an open output file, owned by the core */

/* ready: the epoll events that came (sys/epoll.h). Return 0, or a negative errno, which ends the source. */
typedef int iaprof_fd_callback(void *instance, int fd, uint32_t ready);
/* expirations: how many periods went by since the last call, usually 1. Returns as iaprof_fd_callback. */
typedef int iaprof_timer_callback(void *instance, uint64_t expirations);

/* How host->command_environment() changes a variable. */
enum iaprof_environment_change {
	IAPROF_ENVIRONMENT_SET = 0,         /* to the value, whatever it was */
	IAPROF_ENVIRONMENT_PREPEND_PATH = 1 /* to "value:old", or to the value when it was not there or empty */
};

/* A file with an executable mapping in some process. Borrowed for the time of the call. */
struct iaprof_mapped_file {
	uint32_t size; /* sizeof(struct iaprof_mapped_file) in the core */
	uint32_t pid;
	const char *path; /* in the process's mount namespace: open it below /proc/PID/root */
	uint64_t start;   /* first address of the mapping, which is /proc/PID/map_files/START-END */
	uint64_t length;  /* its bytes */
	uint64_t file_offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
};
/* Returns 0, or a negative errno, which ends the source. */
typedef int iaprof_mapped_file_callback(void *instance, const struct iaprof_mapped_file *file);

struct iaprof_host {
	uint32_t size;           /* sizeof(struct iaprof_host) in the core */
	uint32_t abi_version;    /* the core's IAPROF_ABI_VERSION */
	uint32_t schema_version; /* the core's IAPROF_SCHEMA_VERSION */
	uint32_t pad;
	const char *instance_name; /* "cpu-stack", or "cpu-stack.ID" for a second instance */

	/* CLOCK_MONOTONIC now, in nanoseconds. Any thread. */
	uint64_t (*clock)(const struct iaprof_host *host);

	/* One line without a newline, printf style. Any thread, from probe() to destroy(). */
	void (*log)(const struct iaprof_host *host, int level, const char *format, ...) IAPROF_PRINTF(3, 4);

	/*
	 * Says why a callback fails: what failed and what to do, without the instance's name and without a newline.
	 * Returns error, made negative. Use: return host->fail(host, EPERM, "open stream: needs CAP_PERFMON"). Several
	 * calls are a chain of causes, the innermost first. On the thread of the callback.
	 */
	int (*fail)(const struct iaprof_host *host, int error, const char *format, ...) IAPROF_PRINTF(3, 4);

	/*
	 * Sources only: puts a batch on the bus; it is copied. Returns 0; -EINVAL for a malformed record (nothing of
	 * the batch is taken, the source is stopped); -ENOSPC when the queue is full (samples, launches, calls, values
	 * of counters are counted as lost, do not send them again; of the rest, such as devices and kernels, all is
	 * taken unless far too much waits); a lossless source (IAPROF_PLUGIN_LOSSLESS) waits instead. Any thread.
	 */
	int (*emit)(const struct iaprof_host *host, const struct iaprof_batch *batch);

	/*
	 * Sources only: the id of a text of length bytes (need not end in NUL; cut at a NUL and at
	 * IAPROF_STRING_LENGTH_MAX). Lives as long as the run. 0 for an empty text or when out of memory. Any thread.
	 */
	uint32_t (*intern_string)(const struct iaprof_host *host, const char *text, size_t length);

	/*
	 * Sources only: the id of a stack of count addresses, the leaf first, of process pid, or of the Linux kernel
	 * when pid is 0. The id may be used in records sent within 5 seconds; ask again for a later one, the same stack
	 * may have another id then. 0 when count is 0 or out of memory; cut at IAPROF_STACK_DEPTH_MAX. Any thread.
	 */
	uint32_t (*intern_stack)(const struct iaprof_host *host, uint32_t pid, const uint64_t *addresses, size_t count);

	/* Sources only: the id of a value type; see struct iaprof_record_value_type. 0 when out of memory. Any thread.
	 */
	uint32_t (*declare_value_type)(const struct iaprof_host *host, const char *name, const char *unit,
				       uint64_t period);

	/*
	 * Sources only: records a loss that ends now; see struct iaprof_record_lost. value_type may be 0. Never fails:
	 * what does not fit into the queue is kept and sent later. Any thread.
	 */
	void (*lost)(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		     uint32_t value_type, uint64_t value);

	/* Sources only: a METADATA record. Any thread. */
	void (*metadata)(const struct iaprof_host *host, const char *key, const char *format, ...) IAPROF_PRINTF(3, 4);

	/*
	 * Sources only: has the core's epoll loop call back when fd has one of events (EPOLLIN, ...). The fd stays the
	 * plugin's, which closes it after unwatch_fd() or in destroy(). Callbacks run on the loop's thread, from
	 * start() to stop(), and must return within a millisecond or so: do a bounded amount of work, you are called
	 * again. Returns 0 or a negative errno. Loop thread: prepare(), start() and callbacks.
	 */
	int (*watch_fd)(const struct iaprof_host *host, int fd, uint32_t events, iaprof_fd_callback *callback);
	int (*unwatch_fd)(const struct iaprof_host *host, int fd);

	/* Sources only: calls back every period nanoseconds (>= 1 ms). Several may run. Same threads as watch_fd. */
	int (*watch_timer)(const struct iaprof_host *host, uint64_t period, iaprof_timer_callback *callback);

	/* What to profile. Sources and sinks, prepare() to stop(). */
	const struct iaprof_target *(*target)(const struct iaprof_host *host);

	/* A source says that it has nothing more to send (end of a file): the run ends when every source has. Any
	 * thread. */
	void (*finished)(const struct iaprof_host *host);

	/* Sinks only, in configure(): flags of enum iaprof_request. */
	void (*request)(const struct iaprof_host *host, uint32_t flags);

	/*
	 * Sinks only: opens an output. The core knows the file's name from the user's options; variant (NULL: none) is
	 * put before its extension, for a sink that writes several files ("cpu" -> profile.cpu.folded). Written to a
	 * temporary name and renamed by output_close(). NULL after a failure, which fail() has been called for. On the
	 * sink's thread.
	 */
	struct iaprof_output *(*output_open)(const struct iaprof_host *host, const char *variant);
	/* Appends size bytes, buffered. Returns 0, or a negative errno (fail() has been called): give up then. */
	int (*output_write)(const struct iaprof_host *host, struct iaprof_output *output, const void *data,
			    size_t size);
	/* Hands on what is buffered, for a sink whose reader follows it live. */
	int (*output_flush)(const struct iaprof_host *host, struct iaprof_output *output);
	/* Writes the rest and gives the file its final name. The output is gone after this, whatever it returns. */
	int (*output_close)(const struct iaprof_host *host, struct iaprof_output *output);
	/* Throws away what was written; for a sink that fails. The core does this for outputs left open. */
	void (*output_discard)(const struct iaprof_host *host, struct iaprof_output *output);

	void *core; /* the core's own; not for plugins */

	/*
	 * Sources only, in prepare(): changes a variable in the environment of the command that iaprof runs (enum
	 * iaprof_environment_change). Later changes of one variable see the earlier ones. Returns 0; -ENOENT when there
	 * is no command; -EINVAL for an empty name or one with '='; -E2BIG when all changes together are more than
	 * 60,000 bytes; -ENOMEM.
	 */
	int (*command_environment)(const struct iaprof_host *host, const char *name, const char *value, uint32_t how);

	/*
	 * Sources only, in prepare(), and only with IAPROF_PLUGIN_NEEDS_PROCESSES: calls back for each file with an
	 * executable mapping in the target's processes (iaprof_target; for a command: in any process), those that are
	 * mapped already after start(), later ones within some 100 ms. Normally once a file, for the first process that
	 * is seen with it; be ready for the same file again, and for one that is gone by then. On the loop's thread,
	 * until stop(). Returns 0 or a negative errno.
	 */
	int (*watch_mapped_files)(const struct iaprof_host *host, iaprof_mapped_file_callback *callback);

	/*
	 * Sources only, in check(): one thing that a complete profile needs, whether it is here (enum
	 * iaprof_check_state), and if not, the command or setting that brings it. name: "Linux kernel", "debug
	 * information of /usr/bin/program"; the format is printf style, one line without a newline.
	 */
	void (*check_item)(const struct iaprof_host *host, uint32_t state, const char *name, const char *format, ...)
		IAPROF_PRINTF(4, 5);

	/*
	 * Sinks only: 1 when the output is standard output, a FIFO or a device, of which there is only one:
	 * output_open() fails for a second variant; else 0. From prepare() on; on the sink's thread.
	 */
	int (*output_is_single)(const struct iaprof_host *host);

	/*
	 * Sources only, in configure(): this instance reads what happened before, or elsewhere. It does without the
	 * process table, though its plugin has IAPROF_PLUGIN_NEEDS_PROCESSES, asks for no rights here, and emit()
	 * waits as for IAPROF_PLUGIN_LOSSLESS.
	 */
	void (*offline)(const struct iaprof_host *host);

	/*
	 * Sinks only, in configure(): the profile of the run is to say when its values were added, in slots of this
	 * many nanoseconds (at least IAPROF_TIME_RESOLUTION_MIN, or they are made so), for struct iaprof_profile.times.
	 * Several sinks get the finest that one of them asked for. A profile of an interval has none.
	 */
	void (*request_times)(const struct iaprof_host *host, uint64_t resolution);

	/*
	 * Sinks only, in configure(), and only with IAPROF_PLUGIN_INTERVALS: profile() is to be called for intervals of
	 * so many nanoseconds (>= 1 ms), when the user asked for none. Of several sinks the shortest counts, for those
	 * that call this. What happened before (IAPROF_TARGET_RECORDED) has one profile all the same.
	 */
	void (*default_interval)(const struct iaprof_host *host, uint64_t interval);

	/* Sinks only: ends the run in good order, as the first Ctrl-C does. Any thread, until finish() returns. */
	void (*end_run)(const struct iaprof_host *host);
	/* Sinks only: 1 once end_run() was called or a signal asked for the same, else 0. Threads as end_run(). */
	int (*run_is_ending)(const struct iaprof_host *host);

	/*
	 * Sinks only: takes the terminal that standard output is for a picture. Until screen_release(), messages for
	 * the same terminal wait, and there is no status line. A program that is ended at once writes restore (at most
	 * 255 bytes) and gives the terminal the modes that it has now; the sink does both itself before
	 * screen_release(). Returns 0; -ENOTTY when standard output is no terminal; -EBUSY when another sink has it;
	 * -EINVAL. Threads as end_run(); the core releases what is still taken in destroy().
	 */
	int (*screen_take)(const struct iaprof_host *host, const char *restore);
	void (*screen_release)(const struct iaprof_host *host);

	/*
	 * Sinks only, before output_open(): the files will contain what not every user may see, such as addresses of
	 * the Linux kernel in records. They are created readable by their owner alone; others follow the umask. Those
	 * of profile() need no call: the core looks whether frames have such addresses.
	 */
	void (*output_private)(const struct iaprof_host *host);
	/*
	 * Sinks only: as output_flush(), and a file gets its final name already, for one that can be read before it is
	 * complete. It stays from then on, also when the run fails or is killed. Threads as output_open().
	 */
	int (*output_publish)(const struct iaprof_host *host, struct iaprof_output *output);
};

/* The finest slots of time that a profile is divided into. */
#define IAPROF_TIME_RESOLUTION_MIN 1000000u

/* Whether the core is new enough to have a member: IAPROF_HOST_HAS(host, output_flush). */
#define IAPROF_HOST_HAS(host, member)                                                                                  \
	((host)->size >= offsetof(struct iaprof_host, member) + sizeof((host)->member) && (host)->member)

#ifdef __cplusplus
}
#endif
#endif
