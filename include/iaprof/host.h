/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/host.h - services that the core provides to a plugin instance.
 *
 * Every callback receives a host pointer, the same one from configure() to destroy(). A plugin does not link against
 * the core: all calls go through the members of struct iaprof_host, which are grouped by the time in which they may be
 * called.
 *
 * Threads: a member may be called from the threads that its comment names. "Any" means any thread of the instance,
 * between the start of prepare() and the return of finish(). Arguments are borrowed for the duration of the call: the
 * core copies what it keeps. Pointers to text must not be NULL unless the comment states what NULL means.
 */
#ifndef IAPROF_HOST_H
#define IAPROF_HOST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <iaprof/layout.h>
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
	IAPROF_LOG_ERROR = 0,   /* always shown; use fail() for errors that end a callback */
	IAPROF_LOG_WARNING = 1, /* shown unless -q */
	IAPROF_LOG_INFO = 2,    /* shown with -v */
	IAPROF_LOG_DEBUG = 3    /* shown with -vv */
};

enum iaprof_scope {
	IAPROF_SCOPE_SYSTEM = 0,  /* the whole machine */
	IAPROF_SCOPE_PIDS = 1,    /* the processes in pids, all their threads; children: IAPROF_TARGET_CHILDREN */
	IAPROF_SCOPE_COMMAND = 2, /* the command that iaprof runs and all its descendants */
	IAPROF_SCOPE_CGROUP = 3   /* the processes in a cgroup and in its descendants, also those that enter it later */
};

enum iaprof_target_flag {
	IAPROF_TARGET_RECORDED = 1u << 0, /* the data was recorded earlier, as in a replay: no events can be missed */
	IAPROF_TARGET_CHILDREN = 1u << 1, /* IAPROF_SCOPE_PIDS: also all descendants of the processes in pids */
	/* A sink requested spans; otherwise sources leave them out of their records, which are then fewer. */
	IAPROF_TARGET_SPANS = 1u << 2
};

/* What to profile. Valid from prepare() on. */
struct iaprof_target {
	uint32_t size;  /* sizeof(struct iaprof_target) in the core */
	uint32_t scope; /* enum iaprof_scope */
	uint32_t flags; /* enum iaprof_target_flag */
	uint32_t pid_count;
	const uint32_t *pids;      /* IAPROF_SCOPE_PIDS: the processes; else NULL */
	uint32_t command_pid;      /* the command's process, held before its exec until every start() has returned; 0:
				      none */
	uint32_t cgroup_hierarchy; /* IAPROF_SCOPE_CGROUP: 0: cgroup v2; else the hierarchy's id in /proc/self/cgroup */
	const char *cgroup;        /* its folder, such as /sys/fs/cgroup/system.slice/x.service; else NULL */
	uint64_t cgroup_id;        /* inode number of that folder, which is kernfs_node.id in the Linux kernel */
	uint64_t interval;         /* ns between profiles, as requested by the user; 0: a single profile at the end */
	/*
	 * Time resolution that sinks or the core requested, in ns: time is divided into slots of this length that begin
	 * at its multiples, and a source that aggregates samples does so per slot. 0: times were not requested.
	 */
	uint64_t time_resolution;
	/*
	 * Longest time in ns that a sink's finish() may wait without writing: afterwards the core regards the sink as
	 * stuck. In a run that a signal or a sink has ended, it is the time for all that the sink still has to do, to
	 * which only its CPU time is added. 0: no limit.
	 */
	uint64_t finish_within;
};
IAPROF_ASSERT_SIZE(iaprof_target, 72);

/* Data that a sink requires; requested in configure(). */
enum iaprof_request {
	IAPROF_REQUEST_LINES = 1u << 0, /* source lines and inlined functions, from DWARF */
	IAPROF_REQUEST_PIDS = 1u << 1,  /* keep stacks of different processes separate, by pid */
	/* Below a device instruction that waits for others, frames with IAPROF_FRAME_PRODUCER for those
	   instructions. */
	IAPROF_REQUEST_PRODUCERS = 1u << 2,
	/* CODE_LISTING records of device functions that have samples; for sinks that receive records. */
	IAPROF_REQUEST_LISTINGS = 1u << 3,
	/* struct iaprof_profile.activity: calls, jobs, counters, histograms and findings. */
	IAPROF_REQUEST_ACTIVITY = 1u << 4,
	/* Keep stacks of different threads and devices separate: struct iaprof_stack.origin. Includes
	   IAPROF_REQUEST_PIDS. */
	IAPROF_REQUEST_THREADS = 1u << 5,
	/* Keep stacks of different spans separate: struct iaprof_stack.span. */
	IAPROF_REQUEST_SPANS = 1u << 6,
	/* Spans in records of samples and launches, for sinks that receive records; stacks are as without. */
	IAPROF_REQUEST_RECORD_SPANS = 1u << 7
};

/* State of a requirement of a complete profile, or of a sink, as reported by host->check_item(). */
enum iaprof_check_state {
	IAPROF_CHECK_GOOD = 0,    /* available */
	IAPROF_CHECK_LIMITED = 1, /* missing; the profile has less detail. Sinks: another run has it */
	IAPROF_CHECK_MISSING = 2  /* missing; no profile is possible, or the sink cannot run */
};

struct iaprof_output; /* an open output file, owned by the core */

enum iaprof_output_flag {
	/*
	 * The file will contain sensitive data, such as Linux kernel addresses in records. It is created readable only
	 * by its owner; other files follow the umask. Not needed for output of profile(): the core checks whether
	 * frames contain such addresses.
	 */
	IAPROF_OUTPUT_PRIVATE = 1u << 0,
	/*
	 * The format is readable before the file is complete: the first output_flush() gives the file its final name,
	 * and it is kept from then on, even if the run fails or is killed.
	 */
	IAPROF_OUTPUT_INCREMENTAL = 1u << 1
};

/* How host->command_environment() changes a variable. */
enum iaprof_environment_change {
	IAPROF_ENVIRONMENT_SET = 0,         /* replaces any earlier value */
	IAPROF_ENVIRONMENT_PREPEND_PATH = 1 /* "value:old", or just the value if the variable was unset or empty */
};

/*
 * A library to load into a running process, for host->inject(). Every text is borrowed for the duration of the call.
 */
struct iaprof_injection {
	uint32_t size;       /* sizeof(struct iaprof_injection) in the source */
	uint32_t pid;        /* one of the target's */
	const char *library; /* path of the file; a process in a container gets a copy in memory */
	/*
	 * A function that the library exports, at most 63 bytes, with the prototype void function(const char
	 * *argument). It is called after the library was loaded, by this injection or an earlier one, with a copy of
	 * the argument, at most 1023 bytes, that is valid during the call. NULL: none; then a library that is loaded
	 * stays as it is.
	 */
	const char *function;
	const char *argument;
	const char *api; /* whose calls are waited for, for messages: its name */
	/*
	 * Functions that the application calls from its own code, where its threads hold no lock of malloc() or of the
	 * dynamic linker: "LIBRARY FUNCTION...", LIBRARY being how its file's name begins; several are separated by
	 * ";". "LIBRARY ANCHOR@INDEX INDEX...": functions that are not exported, at these indexes of a table of
	 * addresses in the library that has the exported function ANCHOR at INDEX. At most 4 libraries with 16
	 * functions each.
	 */
	const char *calls;
};
IAPROF_ASSERT_SIZE(iaprof_injection, 48);

/* A file with an executable mapping in some process. Borrowed for the duration of the call. */
struct iaprof_mapped_file {
	uint32_t size; /* sizeof(struct iaprof_mapped_file) in the core */
	uint32_t pid;
	const char *path; /* in the process's mount namespace: open it below /proc/PID/root */
	uint64_t start;   /* first address of the mapping, which is /proc/PID/map_files/START-END */
	uint64_t length;  /* in bytes */
	uint64_t file_offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
};
IAPROF_ASSERT_SIZE(iaprof_mapped_file, 56);

/* Callbacks of the loop. They return 0, or a negative errno, which ends the source. */
struct iaprof_host;
/* ready: the epoll events that occurred (sys/epoll.h). */
typedef int iaprof_on_fd(const struct iaprof_host *host, void *instance, int fd, uint32_t ready);
/* expirations: number of periods elapsed since the last call, usually 1. */
typedef int iaprof_on_timer(const struct iaprof_host *host, void *instance, uint64_t expirations);
typedef int iaprof_on_mapped_file(const struct iaprof_host *host, void *instance,
				  const struct iaprof_mapped_file *file);
/* A frame by name, as in struct iaprof_record_named_frame. */
struct iaprof_named_frame {
	uint32_t size; /* sizeof(struct iaprof_named_frame) in the source */
	uint32_t name, file, line, kind, flags;
};
IAPROF_ASSERT_SIZE(iaprof_named_frame, 24);

/*
 * What became of the items that a sink passes on, such as profiles, since start(). IAPROF_COUNT_UNKNOWN: does not apply
 * to this sink.
 */
struct iaprof_delivery {
	uint32_t size; /* sizeof(struct iaprof_delivery) in the sink */
	uint32_t pad;
	uint64_t delivered; /* accepted by the receiver, or written */
	uint64_t refused;   /* by the receiver */
	uint64_t dropped;   /* there was no room, or they could not be written */
	uint64_t waiting;   /* are still to be delivered: in memory or on disk */
	uint64_t stored;    /* bytes on disk now */
};
IAPROF_ASSERT_SIZE(iaprof_delivery, 48);

struct iaprof_host {
	uint32_t size; /* sizeof(struct iaprof_host) in the core */
	uint32_t pad;
	const char *instance_name; /* "cpu-stack", or "cpu-stack.ID" for a second instance; valid until destroy() */
	void *core;                /* private to the core */

	/* Always: all kinds of plugins, from configure() to destroy(). */

	/* CLOCK_MONOTONIC now, in nanoseconds. Any thread. */
	uint64_t (*clock)(const struct iaprof_host *host);
	/*
	 * Logs one line, without a newline, printf style; 2047 bytes at most, the rest is cut off. format may be NULL:
	 * an empty line. Any thread.
	 */
	void (*log)(const struct iaprof_host *host, int level, const char *format, ...) IAPROF_PRINTF(3, 4);
	/*
	 * Reports why a callback fails: what failed and the remedy, without the instance's name and without a newline.
	 * Returns error, made negative. Use: return host->fail(host, EPERM, "open stream: needs CAP_PERFMON"). Several
	 * calls form a chain of causes, innermost first. error 0 means EIO. format may be NULL: no cause is added, and
	 * the message has that of the errno. Called on the thread of the callback.
	 */
	int (*fail)(const struct iaprof_host *host, int error, const char *format, ...) IAPROF_PRINTF(3, 4);

	/* Requirements: in configure(); check_item() in check(). */

	/* Sinks: requests data; flags of enum iaprof_request, which are added to those of earlier calls. */
	void (*request)(const struct iaprof_host *host, uint32_t flags);
	/*
	 * Sinks: requests time-resolved values (struct iaprof_profile.times) in the profile of the run, in slots of
	 * resolution nanoseconds, raised to IAPROF_TIME_RESOLUTION_MIN if smaller. The finest resolution requested by
	 * any sink applies to all. Profiles of intervals have no times.
	 */
	void (*request_times)(const struct iaprof_host *host, uint64_t resolution);
	/*
	 * Sinks with IAPROF_PLUGIN_INTERVALS: sets the interval for calls of profile(), in nanoseconds (raised to 1 ms
	 * if smaller), for runs where the user requested none. If several sinks call this, the shortest interval
	 * applies to all of them. Recorded data (IAPROF_TARGET_RECORDED) still yields a single profile.
	 */
	void (*default_interval)(const struct iaprof_host *host, uint64_t interval);
	/*
	 * Sources: marks this instance as reading recorded or remote data. It does not need the process table even if
	 * its plugin has IAPROF_PLUGIN_NEEDS_PROCESSES, requires no privileges on this machine, and emit() waits as for
	 * IAPROF_PLUGIN_LOSSLESS.
	 */
	void (*offline)(const struct iaprof_host *host);
	/*
	 * Reports one requirement of a complete profile, or of a sink, its state (enum iaprof_check_state), and if it
	 * is missing, the command or setting that provides it. name: "Linux kernel", "debug information of
	 * /usr/bin/program"; the format is printf style, one line without a newline, of which 1023 bytes are kept.
	 * name and format may be NULL: "".
	 */
	void (*check_item)(const struct iaprof_host *host, uint32_t state, const char *name, const char *format, ...)
		IAPROF_PRINTF(4, 5);

	/* The run: from prepare() to the return of finish(). */

	/* Sources and sinks: returns what to profile; valid until destroy(). */
	const struct iaprof_target *(*target)(const struct iaprof_host *host);
	/*
	 * Sources, in prepare(): changes a variable in the environment of the command that iaprof runs (enum
	 * iaprof_environment_change). Later changes of a variable build on earlier ones. Returns 0; -ENOENT if there is
	 * no command; -EINVAL if name is NULL, empty, or contains '=', or if how is unknown; -E2BIG if all changes
	 * together exceed 60,000 bytes; -ENOMEM. value NULL means "".
	 */
	int (*command_environment)(const struct iaprof_host *host, const char *name, const char *value, uint32_t how);
	/*
	 * Sources, from start() to stop(), on the loop's thread: returns N if the source should keep one of N samples,
	 * whose value is then that of all N. 1, unless the user set a budget of CPU time that the run exceeds. The
	 * number changes in both directions during the run: call this about once a second. longest: the largest number
	 * with which the source is still useful, such as one sample per second; the result does not exceed it.
	 */
	uint32_t (*sample_stride)(const struct iaprof_host *host, uint32_t longest);
	/* Sources: states that there is nothing more to send (end of file): callbacks of descriptors and timers are not
	   called again. The run ends when every source has finished. Further calls have no effect. Any thread. */
	void (*finished)(const struct iaprof_host *host);
	/* Sinks: ends the run cleanly, as the first Ctrl-C does. Any thread. */
	void (*end_run)(const struct iaprof_host *host);
	/* Sinks: returns 1 once end_run() was called or a signal requested the same, otherwise 0. Any thread. */
	int (*run_is_ending)(const struct iaprof_host *host);
	/*
	 * Sinks: states what became of the items that the sink passes on, for the metrics of the run
	 * (iaprof-prometheus(7)). The struct is copied. Call it after each change. Any thread.
	 */
	void (*delivery)(const struct iaprof_host *host, const struct iaprof_delivery *delivery);

	/* Records: sources, from prepare() to the return of finish(). Any thread. */

	/*
	 * Puts a copy of a batch on the bus. Returns 0, or -EINVAL for a malformed record or batch (the whole batch is
	 * rejected, the reason is reported, and the source is stopped). Batches of some 64 KiB cost least; one of more
	 * than 16 MiB is handled as if the queue were full. A full queue is not an error and needs no code: the core
	 * drops samples, launches, calls, jobs, histograms and counter values, and counts them as lost; it still
	 * accepts all other records, such as devices and kernels, unless the queue is far over its limit. A lossless
	 * source (IAPROF_PLUGIN_LOSSLESS) waits instead.
	 *
	 * The core drops these records and counts them as lost, with the reason: those of a type that it does not know;
	 * those whose time is more than IAPROF_TIME_AHEAD_MAX ahead of the clock; samples, stall samples, calls, jobs,
	 * histograms and counter values that ended more than IAPROF_TIME_AHEAD_MAX before start() was called; and
	 * values of counters that the source has not declared. Records of a device that the source has not declared are
	 * used, and counted as lost; the first 1024 devices are checked. Lossless sources may send all of them.
	 */
	int (*emit)(const struct iaprof_host *host, const struct iaprof_batch *batch);
	/*
	 * States that all CODE_OBJECT, KERNEL (with an address), LAUNCH and DEVICE_ACTIVITY records of this source up
	 * to time, in ns of CLOCK_MONOTONIC, were passed to emit(). Stall samples and jobs of any source up to that
	 * time need not wait for them any longer; a source that never calls this makes them wait up to two seconds
	 * (COUNTER in iaprof/record.h has the exception). Call it several times a second, also when there was nothing
	 * to send. Such records that are sent later with an earlier time still take effect, and are counted as lost
	 * with the reason, because samples may have been attributed without them. An earlier time than before has no
	 * effect. Returns 0, or -EINVAL if time is more than IAPROF_TIME_AHEAD_MAX ahead of the clock. The order of
	 * calls of emit() and advance() is that in which they return.
	 */
	int (*advance)(const struct iaprof_host *host, uint64_t time);
	/*
	 * Returns the id of a string of length bytes (need not be NUL-terminated; truncated at a NUL and at
	 * IAPROF_STRING_LENGTH_MAX). Valid for the whole run. 0 for an empty string, NULL, or when out of memory.
	 */
	uint32_t (*intern_string)(const struct iaprof_host *host, const char *text, size_t length);
	/*
	 * Returns the id of a stack of count addresses, leaf first, of process pid, or of the Linux kernel if pid is 0.
	 * The id may be used in records sent within 5 seconds; for later records call this again, because the same
	 * stack may have a different id by then. 0 if count is 0, addresses is NULL, or when out of memory; truncated
	 * at IAPROF_STACK_DEPTH_MAX.
	 */
	uint32_t (*intern_stack)(const struct iaprof_host *host, uint32_t pid, const uint64_t *addresses, size_t count);
	/*
	 * Returns the id of a frame by name, which is an element of user stacks with IAPROF_STACK_NAMED_FRAME added.
	 * Valid for the whole run. 0 if frame is NULL or has no name, when out of memory, or if the run has
	 * IAPROF_NAMED_FRAMES_MAX.
	 */
	uint32_t (*intern_frame)(const struct iaprof_host *host, const struct iaprof_named_frame *frame);
	/*
	 * Returns the id of a value type, valid for the whole run; see struct iaprof_record_value_type. 0 if name or
	 * unit is NULL, if both together are longer than 254 bytes, or when out of memory.
	 */
	uint32_t (*declare_value_type)(const struct iaprof_host *host, const char *name, const char *unit,
				       uint64_t period);
	/*
	 * Records a loss whose time range ends now; see struct iaprof_record_lost. value_type may be 0; reason NULL
	 * means "". Put on the bus even if the queue is full.
	 */
	void (*lost)(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		     uint32_t value_type, uint64_t value);
	/* Sends a METADATA record. The value has at most 1023 bytes, the rest is cut off; key and format may be NULL:
	   "". */
	void (*metadata)(const struct iaprof_host *host, const char *key, const char *format, ...) IAPROF_PRINTF(3, 4);

	/* The loop: sources, in prepare(), start() and callbacks on the loop's thread. */

	/*
	 * Adds fd to the core's epoll loop, which calls back on any of events (EPOLLIN, ...). The plugin keeps
	 * ownership of fd and closes it after remove_fd() or in destroy(). Callbacks run on the loop's thread, from
	 * start() to stop(), and must return within about a millisecond: do a bounded amount of work, the callback is
	 * called again. Returns 0; -EINVAL if callback is NULL; -ENOMEM; or what epoll_ctl(2) fails with, such as
	 * -EEXIST for a descriptor that was added already.
	 */
	int (*on_fd)(const struct iaprof_host *host, int fd, uint32_t events, iaprof_on_fd *callback);
	/* Removes fd, also in its own callback and in destroy(). Returns 0, or -ENOENT if it was not added. */
	int (*remove_fd)(const struct iaprof_host *host, int fd);
	/*
	 * Calls back every period nanoseconds, raised to 1 ms if smaller, until the source is stopped. Several timers
	 * may run. Returns 0; -EINVAL if period is 0 or callback is NULL; -ENOMEM; or what timerfd_create(2) or
	 * epoll_ctl(2) fails with.
	 */
	int (*on_timer)(const struct iaprof_host *host, uint64_t period, iaprof_on_timer *callback);

	/* Code of processes: sources with IAPROF_PLUGIN_NEEDS_PROCESSES, on the loop's thread. */

	/*
	 * In prepare(): calls back for each file with an executable mapping in the target's processes (iaprof_target;
	 * for a command: in any process): existing mappings after start() (before it in an instance that takes the
	 * place of another one), later ones within about 100 ms. Normally called once per file, for the first process
	 * seen to map it; the callback must handle repeated files, and processes or files that have since disappeared.
	 * Until stop(). Returns 0; -EINVAL without that flag, if callback is NULL, or for a second call; -ENOMEM.
	 */
	int (*on_mapped_file)(const struct iaprof_host *host, iaprof_on_mapped_file *callback);
	/* Output: sinks, on the sink's thread, or in prepare() and start(). */

	/*
	 * Opens an output. The core takes the file name from the user's options; variant (NULL: none) is inserted
	 * before its extension, for a sink that writes several files ("cpu" -> profile.cpu.folded); it is cut off after
	 * 63 bytes, and '/', spaces and control bytes become '_'. flags: enum iaprof_output_flag. The file is written
	 * under a temporary name, which output_close() renames. Returns NULL on failure, after calling fail(). The
	 * output belongs to the core and is valid until output_close() or output_discard().
	 */
	struct iaprof_output *(*output_open)(const struct iaprof_host *host, const char *variant, uint32_t flags);
	/* Appends size bytes, buffered. Returns 0, or a negative errno after calling fail(); the sink must then stop
	   writing. */
	int (*output_write)(const struct iaprof_host *host, struct iaprof_output *output, const void *data,
			    size_t size);
	/* Flushes the buffer, for a sink whose output is followed live. Returns as output_write(). */
	int (*output_flush)(const struct iaprof_host *host, struct iaprof_output *output);
	/* Writes the rest and gives the file its final name. Frees the output, whatever it returns. Returns as
	   output_write(); a file that could not be written is removed. */
	int (*output_close)(const struct iaprof_host *host, struct iaprof_output *output);
	/* Discards the output, for a sink that fails. The core does this for outputs left open, which are an error
	   after finish(). */
	void (*output_discard)(const struct iaprof_host *host, struct iaprof_output *output);
	/* Returns 1 if the output is standard output, a FIFO or a device, which can be opened only once (output_open()
	   fails for a second variant); otherwise 0. */
	int (*output_is_single)(const struct iaprof_host *host);
	/*
	 * Acquires the terminal on standard output for full-screen output. Until screen_release(), messages to the same
	 * terminal are held back and there is no status line. If the program terminates abruptly, it writes restore (at
	 * most 255 bytes) and restores the current terminal modes; the sink does both itself before screen_release().
	 * restore may be NULL: "". Returns 0; -ENOTTY if standard output is not a terminal; -EBUSY if a sink holds it
	 * already; -EINVAL if restore is longer. Any thread; the core releases a terminal still held in destroy().
	 */
	int (*screen_acquire)(const struct iaprof_host *host, const char *restore);
	/* Any thread. */
	void (*screen_release)(const struct iaprof_host *host);

	/*
	 * Sources, in prepare(): loads a library into a running process and calls a function of it, on the first thread
	 * that makes one of the stated calls twice after the sources were started. A program of iaprof's does that,
	 * until the end of the run; it logs the result. The library stays in the process. Returns 0 when the process
	 * was examined, within a few seconds; or the result of fail(), if the library cannot be loaded: then the
	 * process was not touched. Needs CAP_SYS_PTRACE and x86-64.
	 */
	int (*inject)(const struct iaprof_host *host, const struct iaprof_injection *injection);

	/*
	 * Returns services that are not part of the stable interface, by name and version: "unwind-1" is a struct
	 * iaprof_unwind_extension (iaprof/unwind.h). NULL: this host has no such extension, or a later version of it
	 * only; a plugin must be able to do without. Valid until destroy(). Always, any thread.
	 */
	const void *(*extension)(const struct iaprof_host *host, const char *name);
};
IAPROF_ASSERT_SIZE(iaprof_host, 320);

/*
 * How far the time of a record may be ahead of the clock, and that of a measurement before start(), in ns: clocks of
 * devices are converted inexactly.
 */
#define IAPROF_TIME_AHEAD_MAX UINT64_C(1000000000)

/* Largest number of frames by name in a run. */
#define IAPROF_NAMED_FRAMES_MAX 4194304u

/* Finest time resolution of a profile, in ns. */
#define IAPROF_TIME_RESOLUTION_MIN 1000000u

#ifdef __cplusplus
}
#endif
#endif
