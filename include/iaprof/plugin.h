/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/plugin.h - the interface of a plugin: a shared object iaprof-NAME.so that exports one symbol.
 *
 * A plugin describes itself with one static const struct iaprof_plugin, written with designated initialisers, and hands
 * it out with IAPROF_REGISTER_PLUGIN(). It links to nothing of iaprof. It keeps no mutable state at file scope: all
 * state is in the instance, instance_size bytes that the core allocates, zeroes and fills with the option values.
 *
 * The life of an instance, and the thread of each call:
 *
 *     (options are parsed into the instance)
 *        |
 *     configure     main thread   check options against each other; no side effects, no privileges; also run by --check
 *        |
 *     probe         main thread   sources: is the hardware here? if not, why not, and what to do?
 *        |
 *     prepare       main thread   open devices, load BPF, make buffers; nothing flows yet. Errors are shown to the
 * user.
 *        |
 *     start         main thread   begin. From here on fd and timer callbacks run, on the same thread (the loop),
 *        |                        and thread() runs on one of its own.
 *        |                        sinks: records() and profile() run on the sink's own thread, one call at a time
 *        |
 *     stop          main thread   sources: take no new events, drain and emit what is there; bounded time
 *        |          (sinks: not called)
 *     finish        sources: main thread, what is known only afterwards; may emit. sinks: the sink's thread, last call
 *        |
 *     destroy       main thread   free everything; called whenever configure() was called, whatever failed since
 *
 * Callbacks that return int return 0, or a negative errno after calling host->fail(). A callback that fails is not
 * called again; destroy() still is. stop() is called for each source whose prepare() succeeded, started or not. A
 * fatal signal or exit() in a callback ends the run at once with a line that names the plugin and the callback.
 */
#ifndef IAPROF_PLUGIN_H
#define IAPROF_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/option.h>
#include <iaprof/profile.h>
#include <iaprof/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A core refuses a plugin of another one; appended members do not change it. */
#define IAPROF_ABI_VERSION 1u

enum iaprof_plugin_kind { IAPROF_PLUGIN_SOURCE = 1, IAPROF_PLUGIN_SINK = 2, IAPROF_PLUGIN_DECODER = 3 };

enum iaprof_plugin_flag {
	/* Source: wants the process table fed with every process and its mappings while it runs. */
	IAPROF_PLUGIN_NEEDS_PROCESSES = 1u << 0,
	/* Source: reads something recorded; emit() waits for room, never loses, and time is the records' own. */
	IAPROF_PLUGIN_LOSSLESS = 1u << 1,
	/* Source: sends definitions and the core's own records too, with the source numbers they were recorded with.
	   The only source of its run. Implies LOSSLESS. */
	IAPROF_PLUGIN_REPLAYS = 1u << 2,
	/* Sink: profile() is called for each interval, when the user or host->default_interval() asked for some, with
	   that interval's values; else once, with the run's. */
	IAPROF_PLUGIN_INTERVALS = 1u << 3,
	/* Source: not chosen by itself when the user names no source. */
	IAPROF_PLUGIN_ONLY_BY_NAME = 1u << 4,
	/* Sink: writes no file; it gets no output= option. */
	IAPROF_PLUGIN_NO_OUTPUT = 1u << 5,
	/* Sink: what it writes is not text, and is not shown on a terminal. */
	IAPROF_PLUGIN_BINARY = 1u << 6,
	/* Sink: profile() can tell two runs from each other (IAPROF_PROFILE_DIFFERENCE); its records() is not called.
	 */
	IAPROF_PLUGIN_DIFFERENCES = 1u << 7
};

/*
 * What decode() says of one instruction. Text is the decoder's static const data or lies in text. The core allocates
 * it and nobody says how large it is, so it never grows: struct iaprof_code_instruction does.
 */
struct iaprof_instruction {
	uint32_t size;        /* bytes of the instruction, >= 1 */
	uint32_t flags;       /* 0 */
	const char *mnemonic; /* "send.ugm load"; valid as long as the plugin is loaded */
	char text[256];       /* full disassembly, NUL-terminated; empty when the decoder has none */
};

/*
 * The code of one function, such as a kernel, that code_open() gets. The struct is borrowed for the time of the call;
 * what its pointers point to stays until code_close(). Any of it may be damaged, or made to do harm.
 */
struct iaprof_code {
	uint32_t size; /* sizeof(struct iaprof_code) in the core */
	uint32_t pad;
	const void *bytes; /* byte_count bytes, without the padding behind the function */
	uint64_t byte_count;
	const void *image; /* the ELF image that it is of, whose notes may say what device it is for; NULL: not known */
	uint64_t image_size;
	const char *name; /* of the function, as in the symbol table; NULL: not known */
};

/* What kind of work an instruction does: what a profile can be grouped by. */
enum iaprof_instruction_group {
	IAPROF_INSTRUCTION_OTHER = 0, /* none of these, or not known */
	IAPROF_INSTRUCTION_ARITHMETIC = 1,
	IAPROF_INSTRUCTION_MATH = 2,   /* square roots, sines: by a unit of their own */
	IAPROF_INSTRUCTION_MATRIX = 3, /* matrix multiplication */
	IAPROF_INSTRUCTION_MEMORY = 4, /* messages to what is outside of the core, memory above all */
	IAPROF_INSTRUCTION_SYNCHRONIZATION = 5,
	IAPROF_INSTRUCTION_CONTROL = 6 /* branches, calls, the end */
};

/* What code_decode() says of one instruction. The core sets struct_size and zeroes the rest. */
struct iaprof_code_instruction {
	uint32_t struct_size; /* sizeof in the core: a decoder writes only members that end within it */
	uint32_t size;        /* bytes of the instruction, >= 1 */
	uint32_t group;       /* enum iaprof_instruction_group */
	uint32_t flags;       /* 0 */
	const char *mnemonic; /* "send.ugm load"; valid as long as the plugin is loaded */
	char waits[32];       /* what it waits for before it issues, as the device's assembler writes it: "@1,$3.dst" */
	char text[256];       /* full disassembly, NUL-terminated; empty when the decoder has none */
};

struct iaprof_plugin {
	uint32_t abi_version;    /* IAPROF_ABI_VERSION */
	uint32_t size;           /* sizeof(struct iaprof_plugin) */
	uint32_t schema_version; /* IAPROF_SCHEMA_VERSION */
	uint32_t kind;           /* enum iaprof_plugin_kind */
	uint32_t flags;          /* enum iaprof_plugin_flag */
	uint32_t option_size;    /* sizeof(struct iaprof_option) */

	const char *name;        /* as in the file name iaprof-NAME.so: lower-case letters, digits, '-', at most 63 */
	const char *version;     /* of the plugin, for --list; may be NULL */
	const char *description; /* one line, for --list */
	const char *extension;   /* sink: of its output files, without the dot: "folded"; else NULL */

	const struct iaprof_option *options; /* may be NULL */
	size_t option_count;
	size_t instance_size; /* bytes of an instance, at least 1 */

	/* All kinds. configure and destroy may be NULL. */
	int (*configure)(const struct iaprof_host *host, void *instance);
	void (*destroy)(const struct iaprof_host *host, void *instance);

	/*
	 * Source: 0 when it can run here. A negative errno after host->fail() says what is missing and what to do. Has
	 * no side effects and takes milliseconds. NULL: always.
	 */
	int (*probe)(const struct iaprof_host *host, void *instance);

	/* Source and sink; may be NULL. */
	int (*prepare)(const struct iaprof_host *host, void *instance);

	/* Source: mandatory. Sink: may be NULL. */
	int (*start)(const struct iaprof_host *host, void *instance);

	/* Source: mandatory. */
	int (*stop)(const struct iaprof_host *host, void *instance);

	/*
	 * Source: runs on a thread of its own from start() on, when not NULL. Returns when *stopping becomes non-zero,
	 * or when there is nothing more; host->finished() is implied by returning 0. Another thread sets it: read it
	 * with
	 * __atomic_load_n(stopping, __ATOMIC_ACQUIRE), at least every 100 ms.
	 */
	int (*thread)(const struct iaprof_host *host, void *instance, const volatile int *stopping);

	/* Sink: mandatory, for it has to close its outputs. Source: may be NULL. */
	int (*finish)(const struct iaprof_host *host, void *instance);

	/* Sink: at least one of these two. A batch or profile is borrowed for the time of the call. */
	int (*records)(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch);
	int (*profile)(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile);

	/* Decoder: the ELF machine number it knows (Intel GT: 205). */
	uint32_t machine;
	uint32_t pad;
	/*
	 * Decoder: mandatory. Names the instruction offset bytes into a kernel, whose whole code is given because the
	 * meaning of one instruction can depend on others. Returns 0, or -EINVAL for bytes that are no instruction.
	 * Pure: any thread, no side effects. Cores that know the next four functions do not call it when they are
	 * there.
	 */
	int (*decode)(const struct iaprof_host *host, void *instance, const void *code, size_t code_size, size_t offset,
		      struct iaprof_instruction *instruction);

	/* Members from here on came after release 0.1. */

	/*
	 * Decoder: the first three all or none; code_producers may be NULL. Calls for one code come one at a time,
	 * those for others from any thread meanwhile. They take a bounded time and have no side effects. Code that
	 * others wrote is decoded in a process of its own, which has no rights: what a decoder reads of files, it reads
	 * in configure(), which is called in iaprof and in that process, where log() shows nothing.
	 *
	 * code_open: gives *code, the decoder's own, for the calls below. Returns 0, or a negative errno for what
	 * cannot be decoded at all; then *code is not used.
	 */
	int (*code_open)(const struct iaprof_host *host, void *instance, const struct iaprof_code *description,
			 void **code);
	/* Once for each code that was opened, before destroy(). */
	void (*code_close)(const struct iaprof_host *host, void *instance, void *code);
	/* Names the instruction that begins at an offset. Returns 0, or -EINVAL when none does. */
	int (*code_decode)(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			   struct iaprof_code_instruction *instruction);
	/*
	 * Finds what the instruction at an offset can be waiting for before it issues, on every way to it. Writes at
	 * most capacity producers, in order of their offsets, and *flags (enum iaprof_producers_flag). Returns how many
	 * there are, which may be more; 0 when it waits for none; -EINVAL when no instruction begins there; -ENOMEM.
	 */
	int (*code_producers)(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			      struct iaprof_producer *producers, size_t capacity, uint32_t *flags);

	/*
	 * Source: names of other sources, ending with NULL, that this one's records mean little without; NULL: none.
	 * Unless the user named them, or an option of this plugin with the name of one is "no" (IAPROF_OPTION_BOOL),
	 * they join the run with their defaults, and with the values of those options of this plugin that they have
	 * too, by name and type. A companion whose probe fails is left out with a line that says why.
	 */
	const char *const *companions;

	/*
	 * Source: run by --check after probe(), whatever that said: tells through host->check_item() what a complete
	 * profile needs and whether it is here. No side effects; takes a second at most. NULL: nothing to tell.
	 */
	void (*check)(const struct iaprof_host *host, void *instance);
};

#if defined(__cplusplus)
#define IAPROF_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define IAPROF_EXPORT __attribute__((visibility("default")))
#endif

/* The one exported symbol. Its function returns a struct that lives as long as the plugin is loaded. */
#define IAPROF_PLUGIN_SYMBOL "iaprof_plugin_register"
typedef const struct iaprof_plugin *iaprof_plugin_register_function(void);

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
