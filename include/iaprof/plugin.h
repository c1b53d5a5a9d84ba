/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/plugin.h - the interface of a plugin: a shared object iaprof-NAME.so that exports one symbol.
 *
 * A plugin describes itself with one static const struct iaprof_plugin and the operations of its kind, written with
 * designated initialisers, and hands it out with IAPROF_REGISTER_PLUGIN(). It does not link against iaprof. It keeps no
 * mutable state at file scope: all state lives in the instance, instance_size bytes that the core allocates, zeroes and
 * fills with the option values.
 *
 * Lifecycle of an instance, and the thread of each call:
 *
 *     (options are parsed into the instance)
 *        |
 *     configure     main thread   check options against each other; no side effects, no privileges; also run by --check
 *        |
 *     probe         main thread   sources: check that the hardware is present; report why not and the remedy
 *        |
 *     (check)       main thread   only with --check, which calls nothing below: report what is missing; no side effects
 *        |
 *     prepare       main thread   open devices, load BPF, allocate buffers; no data yet. Errors go to the user.
 *        |
 *     start         main thread   open what only one instance can have; begin collecting
 *        |                        fd and timer callbacks run from here on, on this thread (the loop);
 *        |                        thread() runs on its own thread; sinks: records() and profile() run on the sink's
 *        |                        own thread, one call at a time
 *        |
 *     stop          main thread   sources: stop collecting, drain and emit pending data; bounded time
 *        |          (sinks: not called)
 *     finish        sources: main thread, final results; may emit. sinks: the sink's thread, last call
 *        |
 *     destroy       main thread   free everything; called whenever configure() was called, whatever failed since
 *
 * A plugin in a process of its own has 4 s for each callback, and thread() after *stopping was set; profile() and
 * finish() of a sink have longer while they progress (iaprof-plugin(7)). Then the process is ended, and the run goes on
 * without the plugin. In the process of iaprof, only the last callbacks of sinks have a limit: struct
 * iaprof_target.finish_within.
 *
 * When a continuous run takes the place of another one, its instances are prepared on the main thread while the loop of
 * the earlier one runs on another thread. Then all sources of the earlier run are stopped, and those of the new one are
 * started. Another thread calls finish() and destroy() of the earlier run's instances; the new sinks are started after
 * that. Calls of an instance never overlap. What only one instance can have, such as a device or an address, is opened
 * in start(), and sources give it up in stop(): when prepare() is called, the earlier instance may have it.
 *
 * Callbacks that return int return 0, or a negative errno after calling host->fail(). A callback that fails is not
 * called again; destroy() still is. stop() is called for each source whose prepare() succeeded, started or not. A
 * fatal signal or exit() in a callback ends the run at once with a line that names the plugin and the callback; a
 * source or sink that was not built with iaprof has a process of its own by default, and only it ends
 * (iaprof-plugin(7), Isolation).
 *
 * A source that fails after start(), in a callback or because emit() refused a malformed record, is ended, and the run
 * continues with the others: its exit status is 1, and a LOST record of the source ("records: the plugin ended early",
 * count not known) has the time. Errors of prepare() and start() can end the run, see there.
 */
#ifndef IAPROF_PLUGIN_H
#define IAPROF_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/image.h>
#include <iaprof/layout.h>
#include <iaprof/option.h>
#include <iaprof/profile.h>
#include <iaprof/record.h>
#include <iaprof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

enum iaprof_plugin_kind { IAPROF_PLUGIN_SOURCE = 1, IAPROF_PLUGIN_SINK = 2, IAPROF_PLUGIN_DECODER = 3 };

enum iaprof_plugin_flag {
	/* Source: requires the process table to track every process and its mappings while it runs. */
	IAPROF_PLUGIN_NEEDS_PROCESSES = 1u << 0,
	/* Source: reads recorded data; emit() waits for room and never drops records, and time is that of the
	   records. */
	IAPROF_PLUGIN_LOSSLESS = 1u << 1,
	/* Source: also sends definitions and the core's own records, with the source numbers they were recorded with.
	   Must be the only source of its run. Implies LOSSLESS. */
	IAPROF_PLUGIN_REPLAYS = 1u << 2,
	/* Sink: if the user or host->default_interval() requested intervals, profile() is called for each interval with
	   that interval's values; otherwise once, with the values of the whole run. */
	IAPROF_PLUGIN_INTERVALS = 1u << 3,
	/* Source: not selected automatically when the user names no source. */
	IAPROF_PLUGIN_ONLY_BY_NAME = 1u << 4,
	/* Sink: writes no file and has no output= option. */
	IAPROF_PLUGIN_NO_OUTPUT = 1u << 5,
	/* Sink: its output is binary and is not written to a terminal. */
	IAPROF_PLUGIN_BINARY = 1u << 6,
	/*
	 * Sink: profile() supports differential profiles (IAPROF_PROFILE_DIFFERENCE). For these, records() is called
	 * only if the sink requested IAPROF_REQUEST_LISTINGS, and receives the records of the later run.
	 */
	IAPROF_PLUGIN_DIFFERENCES = 1u << 7,
	/* Sink: used when the user names no sink. If several plugins set this flag (or one of the next two), the first
	   by name is used. Of a plugin that was not built with iaprof, this flag and the other DEFAULT flags have no
	   effect: it is used when the user names it. */
	IAPROF_PLUGIN_DEFAULT = 1u << 8,
	/* Sink: replaces that default when a file is replayed and no output is named; the output is named after the
	   file, with the sink's extension. */
	IAPROF_PLUGIN_DEFAULT_OF_REPLAY = 1u << 9,
	/* Sink: replaces the default for an output whose name ends in the sink's extension, unless that is the one of a
	   format of iaprof's own sinks: see iaprof(1). */
	IAPROF_PLUGIN_DEFAULT_OF_EXTENSION = 1u << 10,
	/* Source: reads the files of --replay and --diff; its option file names one. Sink: writes the file of --record.
	   If several plugins of a kind set this flag, the first by name is used, of those built with iaprof. */
	IAPROF_PLUGIN_CAPTURES = 1u << 11,
	/* Source: records only the processes of struct iaprof_target, with IAPROF_TARGET_CHILDREN and
	   IAPROF_SCOPE_CGROUP. The user is warned of sources without this flag. */
	IAPROF_PLUGIN_TARGETS = 1u << 12,
	/* Source: sends JOB records, or samples of waits, with a reason. If a run has both, the core attributes the
	   idle time of devices, and requests a time resolution of 1 ms from all sources. */
	IAPROF_PLUGIN_JOBS = 1u << 13,
	IAPROF_PLUGIN_WAITS = 1u << 14,
	/* Sink: replaces the default of --continuous when no sink is named. */
	IAPROF_PLUGIN_DEFAULT_OF_CONTINUOUS = 1u << 15
};

/*
 * Code of one function, such as a GPU kernel, passed to code_open(). The struct is borrowed for the duration of the
 * call; the data it points to stays valid until code_close(). All of it is untrusted and may be corrupt or malicious.
 */
struct iaprof_code {
	uint32_t size; /* sizeof(struct iaprof_code) in the core */
	uint32_t pad;
	const void *bytes; /* byte_count bytes, without the padding after the function */
	uint64_t byte_count;
	const void *image; /* ELF image that contains it, whose notes may identify its device; NULL: not known */
	uint64_t image_size;
	const char *name; /* function name, as in the symbol table; NULL: not known */
};
IAPROF_ASSERT_SIZE(iaprof_code, 48);

/* Instruction categories, by which a profile can be grouped. */
enum iaprof_instruction_group {
	IAPROF_INSTRUCTION_OTHER = 0, /* none of these, or not known */
	IAPROF_INSTRUCTION_ARITHMETIC = 1,
	IAPROF_INSTRUCTION_MATH = 2,   /* square root, sine and the like, executed by a dedicated unit */
	IAPROF_INSTRUCTION_MATRIX = 3, /* matrix multiplication */
	IAPROF_INSTRUCTION_MEMORY = 4, /* messages to units outside the core, mostly memory accesses */
	IAPROF_INSTRUCTION_SYNCHRONIZATION = 5,
	IAPROF_INSTRUCTION_CONTROL = 6 /* branches, calls, end of thread */
};

/* One instruction, filled in by code_decode(). The core sets struct_size and zeroes the rest. */
struct iaprof_code_instruction {
	uint32_t struct_size; /* sizeof in the core: a decoder writes only members that end within it */
	uint32_t size;        /* bytes of the instruction, >= 1 */
	uint32_t group;       /* enum iaprof_instruction_group */
	uint32_t flags;       /* 0 */
	const char *mnemonic; /* "load.global"; valid as long as the plugin is loaded */
	char waits[32];       /* its dependencies before issue, in the device's assembler syntax: "@1,$3.dst" */
	char text[256];       /* full disassembly, NUL-terminated; empty when the decoder has none */
};
IAPROF_ASSERT_SIZE(iaprof_code_instruction, 312);

/* Callbacks of a source. */
struct iaprof_source_operations {
	uint32_t size; /* sizeof(struct iaprof_source_operations) */
	uint32_t pad;
	/*
	 * Mandatory. An error of start() or prepare() ends the run before anything is recorded and before the command
	 * runs, with exit status 1, if the user named this source: a profile without the data would hide that it is
	 * missing. The run continues without a source that the user did not name, and has exit status 1 at its end, or
	 * that was named with optional=yes. Hardware that this machine does not have is reported by probe(). A crash or
	 * hang of an isolated plugin is a defect rather than an answer: the run continues without the plugin, as after
	 * any other callback.
	 */
	int (*start)(const struct iaprof_host *host, void *instance);
	/* Mandatory. Returns within 0.5 s: an isolated source has a quarter of --finish-within if there are others. */
	int (*stop)(const struct iaprof_host *host, void *instance);
	/* May be NULL, as all below. */
	int (*prepare)(const struct iaprof_host *host, void *instance);
	int (*finish)(const struct iaprof_host *host, void *instance);
	/*
	 * Returns 0 if it can run on this machine, or a negative errno after host->fail() has reported what is missing
	 * and the remedy. Has no side effects and returns within milliseconds. NULL: can always run.
	 */
	int (*probe)(const struct iaprof_host *host, void *instance);
	/*
	 * Called by --check after probe(), whatever probe() returned. Reports through host->check_item() each
	 * requirement of a complete profile and whether it is met. No side effects: creates nothing and keeps no lock,
	 * descriptor or address. Returns within a second, unless it waits for another process. NULL: nothing to report.
	 */
	void (*check)(const struct iaprof_host *host, void *instance);
	/*
	 * NULL-terminated names, at most 16, of other sources without which this one's records are of little use; NULL:
	 * none. Unless the user named them, or an option of this plugin with a companion's name is "no"
	 * (IAPROF_OPTION_BOOL), they are added to the run with their defaults, except that options they share with this
	 * plugin (same name and type) get this plugin's values. A companion whose probe fails is skipped with a message
	 * that gives the reason.
	 */
	const char *const *companions;
	/*
	 * If not NULL, runs on a dedicated thread from start() on. Returns when *stopping becomes non-zero or when
	 * there is no more data; returning 0 implies host->finished(), and a negative errno after host->fail() ends the
	 * source. Another thread sets *stopping, and waits for the return before stop() is called: read it with
	 * __atomic_load_n(stopping, __ATOMIC_ACQUIRE) at least every 100 ms.
	 */
	int (*thread)(const struct iaprof_host *host, void *instance, const volatile int *stopping);
};
IAPROF_ASSERT_SIZE(iaprof_source_operations, 72);

/* Callbacks of a sink. */
struct iaprof_sink_operations {
	uint32_t size; /* sizeof(struct iaprof_sink_operations) */
	uint32_t pad;
	const char *extension; /* of its output files, without the dot: "folded"; NULL with IAPROF_PLUGIN_NO_OUTPUT */
	/*
	 * Mandatory, because it must close its outputs: one that is open when this returns 0 is an error of the sink,
	 * and so is having opened none without IAPROF_PLUGIN_NO_OUTPUT or screen_acquire().
	 */
	int (*finish)(const struct iaprof_host *host, void *instance);
	/*
	 * At least one of these two. The batch or profile is borrowed for the duration of the call. Data waits in a
	 * queue of 24 MiB, and profiles in another: for a sink that is too slow, samples, launches, calls, jobs,
	 * histograms and counter values are dropped and counted as lost, in this sink only, and the oldest profiles of
	 * intervals are dropped. Recorded data (IAPROF_TARGET_RECORDED) waits instead. A failure ends the sink, whose
	 * open outputs are discarded.
	 */
	int (*records)(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch);
	int (*profile)(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile);
	/* May be NULL, as all below. An error of prepare() or start() ends the run before anything is recorded, with
	   exit status 1. */
	int (*prepare)(const struct iaprof_host *host, void *instance);
	int (*start)(const struct iaprof_host *host, void *instance);
	/*
	 * Called by --check after configure(). Reports through host->check_item() whether the machine has what the sink
	 * uses, such as a folder or an address; what a run with the same options has meanwhile is IAPROF_CHECK_LIMITED.
	 * No side effects, as for sources. NULL: nothing to report.
	 */
	void (*check)(const struct iaprof_host *host, void *instance);
};
IAPROF_ASSERT_SIZE(iaprof_sink_operations, 64);

/* Callbacks of a decoder. */
struct iaprof_decoder_operations {
	uint32_t size;    /* sizeof(struct iaprof_decoder_operations) */
	uint32_t machine; /* the ELF machine number that it supports (e_machine) */
	/*
	 * code_open, code_close and code_decode are mandatory; code_producers may be NULL. Calls for one code are
	 * serialized; calls for different codes may run concurrently on any thread. They return in bounded time and
	 * have no side effects. Code from other users is decoded in a separate unprivileged process: a decoder that
	 * needs files reads them in configure(), which is called both in iaprof and in that process, where log() prints
	 * nothing.
	 *
	 * code_open: sets *code, an opaque pointer of the decoder that is passed to the calls below. Returns 0, or a
	 * negative errno if the code cannot be decoded at all; *code is then not used.
	 */
	int (*code_open)(const struct iaprof_host *host, void *instance, const struct iaprof_code *description,
			 void **code);
	/* Called once for each opened code, before destroy(). */
	void (*code_close)(const struct iaprof_host *host, void *instance, void *code);
	/*
	 * Decodes the instruction that begins at offset. Returns 0, or -EINVAL if none begins there: samples there are
	 * not attributed to the code.
	 */
	int (*code_decode)(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			   struct iaprof_code_instruction *instruction);
	/*
	 * Reads an image of its machine, once, before any code in it is opened; iaprof/image.h lists what it may
	 * report. Returns 0, or a negative errno if the image is corrupt, which is reported as damaged in parts;
	 * everything reported up to then remains valid. Any thread, no side effects, bounded time. NULL: the core reads
	 * only the generic parts of the ELF file.
	 */
	int (*image_read)(const struct iaprof_host *host, void *instance, const struct iaprof_image *image,
			  const struct iaprof_image_report *report);
	/* Relocation types of debug information in images without addresses; NULL: debug information is not relocated
	   and provides no source lines. */
	const struct iaprof_relocation *relocations;
	size_t relocation_count;
	/*
	 * Writes the display name of a function in its images into text, NUL-terminated; name is the demangled name
	 * that the core would display otherwise. Returns its length, less than capacity; 0, or a larger one: keep name.
	 * Any thread, no side effects. May be NULL.
	 */
	size_t (*display_name)(const struct iaprof_host *host, void *instance, const char *name, char *text,
			       size_t capacity);
	/*
	 * Finds the instructions that the one at offset may wait for before it issues, on every control-flow path to
	 * it. Writes at most capacity producers, ordered by offset, and *flags (enum iaprof_producers_flag). Returns
	 * the number of producers, which may exceed capacity; 0 if it waits for none; -EINVAL if no instruction begins
	 * there; -ENOMEM.
	 */
	int (*code_producers)(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			      struct iaprof_producer *producers, size_t capacity, uint32_t *flags);
};
IAPROF_ASSERT_SIZE(iaprof_decoder_operations, 72);

/* The description of a plugin. */
struct iaprof_plugin {
	uint32_t abi_version;    /* IAPROF_ABI_VERSION */
	uint32_t size;           /* sizeof(struct iaprof_plugin) */
	uint32_t schema_version; /* IAPROF_SCHEMA_VERSION */
	uint32_t kind;           /* enum iaprof_plugin_kind */
	uint32_t flags;          /* enum iaprof_plugin_flag */
	uint32_t option_size;    /* sizeof(struct iaprof_option) */

	const char *name;        /* as in the file name iaprof-NAME.so: lower-case letters, digits, '-', at most 63 */
	const char *version;     /* plugin version, for --list; may be NULL */
	const char *description; /* one line, for --list; may be NULL */

	const struct iaprof_option *options; /* may be NULL if option_count is 0 */
	size_t option_count;                 /* at most 256 */
	size_t instance_size;                /* size of an instance in bytes, 1 to 64 MiB */

	/* The one of its kind, valid as long as the plugin is loaded; the others are not read. */
	const struct iaprof_source_operations *source;
	const struct iaprof_sink_operations *sink;
	const struct iaprof_decoder_operations *decoder;

	/* All kinds; may be NULL. */
	int (*configure)(const struct iaprof_host *host, void *instance);
	void (*destroy)(const struct iaprof_host *host, void *instance);
};
IAPROF_ASSERT_SIZE(iaprof_plugin, 112);

#if defined(__cplusplus)
#define IAPROF_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define IAPROF_EXPORT __attribute__((visibility("default")))
#endif

/* The one exported symbol. The function returns a struct that stays valid as long as the plugin is loaded. */
#define IAPROF_PLUGIN_SYMBOL "iaprof_plugin_register"
typedef const struct iaprof_plugin *iaprof_plugin_register_function(void);

/*
 * Initialisers for the members of struct iaprof_plugin that depend on the headers, and on an option table (an array,
 * not a pointer).
 */
#define IAPROF_PLUGIN_VERSIONS                                                                                         \
	.abi_version = IAPROF_ABI_VERSION, .size = sizeof(struct iaprof_plugin),                                       \
	.schema_version = IAPROF_SCHEMA_VERSION, .option_size = sizeof(struct iaprof_option)
#define IAPROF_PLUGIN_OPTIONS(table) .options = (table), .option_count = sizeof(table) / sizeof *(table)

#define IAPROF_REGISTER_PLUGIN(plugin)                                                                                 \
	IAPROF_EXPORT const struct iaprof_plugin *iaprof_plugin_register(void);                                        \
	const struct iaprof_plugin *iaprof_plugin_register(void)                                                       \
	{                                                                                                              \
		return &(plugin);                                                                                      \
	}

#ifdef __cplusplus
}
#endif
#endif
