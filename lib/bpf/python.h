/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Python frames as BPF programs record them (python.bpf.h) and user space names them (python_stacks.h). */
#pragma once

#include <linux/types.h>
#include <iaprof/python.h>

/*
 * In a stack, Python frames follow the addresses, the innermost first. Each is two words: the first has PYTHON_FRAME,
 * which no user address has, the second is the address of the code object. With PYTHON_FRAME_BEGINS, the highest bits
 * of the second are 1 + the position in the stack of the call of the evaluation loop; 0: it is not known.
 */
#define PYTHON_FRAME (1ull << 63)
/* The frame is the innermost one of its call of the evaluation loop. */
#define PYTHON_FRAME_BEGINS (1ull << 62)
/* The list of frames was longer. */
#define PYTHON_FRAME_TRUNCATED (1ull << 61)
#define PYTHON_FRAME_IDENTITY_SHIFT 32
#define PYTHON_FRAME_IDENTITY_MASK 0x1fffffffu
/* The rest is the position of the instruction in the bytecode, in bytes; negative before the first one. */

#define PYTHON_CALL_SHIFT 48
#define PYTHON_CODE_MASK ((1ull << PYTHON_CALL_SHIFT) - 1)

/* Instead of the address of a code object: the interpreter's structures are not as expected. */
#define PYTHON_CODE_UNKNOWN_LAYOUT 1ull

/* Limits on what is copied of a frame and of a code object. */
#define PYTHON_FRAME_BYTES 128u
#define PYTHON_OBJECT_BYTES 256u

struct python_process {
	__u64 execution;          /* as in struct unwind_process */
	__u64 runtime, code_type; /* addresses in the process */
	__u64 window;             /* begin of the second to which sent belongs, ns */
	__u64 sent;               /* bytes of code objects */
	struct iaprof_python_layout layout;
};

/* The state of a thread, as it was found last. */
struct python_thread {
	__u64 head;  /* the first thread state of the process then */
	__u64 state; /* 0: the thread had none */
	__u32 thread;
	__u32 process;
	__u32 misses; /* searches and samples since it had one */
	__u32 pad;
};
/*
 * Threads that are not Python's are searched for as often, and after so many samples again: while threads come and go,
 * a search can miss the state of a thread.
 */
#define PYTHON_MISSES_MIN 4u
#define PYTHON_MISSES_MAX 64u
#define PYTHON_THREADS 16384u

/* What names and lines of a code object are made of. A copy is sent when the object is first seen. */
#define PYTHON_NAME_BYTES 256u
#define PYTHON_FILE_BYTES 1024u
#define PYTHON_LINES_BYTES 16384u
struct python_text {
	__u32 character; /* bytes of each: 1 (ASCII or Latin-1), 2 or 4; 0: it could not be read */
	__u32 bytes;
	__u64 length; /* characters; more than those in bytes: it was cut */
};
struct python_code {
	__u64 execution;
	__u64 code;
	__u32 process;
	__u32 identity; /* PYTHON_FRAME_IDENTITY_MASK */
	struct python_text name, file;
	__s32 first_line;
	__u32 line_bytes;  /* 0: it could not be read, or is too long */
	__u32 line_format; /* enum iaprof_python_lines */
	__u32 pad;
	__u8 name_bytes[PYTHON_NAME_BYTES];
	__u8 file_bytes[PYTHON_FILE_BYTES];
	__u8 lines[PYTHON_LINES_BYTES];
};

/* Bytes of code objects that a process may have sent within a second, and objects with one stack. */
#define PYTHON_SENT_MAX (8u << 20)
#define PYTHON_SENDS_MAX 96u

/* Hashes of the objects that were sent, by the low bits of the hash: another one with the same bits replaces it. */
#define PYTHON_SEEN 65536u

struct python_counts {
	__u64 stacks;         /* with Python frames */
	__u64 truncated;      /* of these, with more frames than fit */
	__u64 unreadable;     /* the list of frames ended early */
	__u64 unknown_layout; /* the structures were not as expected */
	__u64 codes;          /* code objects that were sent */
	__u64 codes_refused;  /* not sent: unreadable, too many, or no room in the ring buffer */
};
