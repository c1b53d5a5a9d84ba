/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * iaprof/python.h - where a CPython interpreter keeps the frames of its functions: found by the core in the ELF file of
 * the interpreter and sent with its unwind table. For sources that record user stacks; BPF programs include it, too.
 * Not part of the stable interface: it belongs to the extension "unwind-1" (iaprof/unwind.h).
 */
#ifndef IAPROF_PYTHON_H
#define IAPROF_PYTHON_H

#include <linux/types.h>
#include <iaprof/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the interpreter marks the first frame of each call of its evaluation loop. */
enum iaprof_python_entry {
	IAPROF_PYTHON_ENTRY_EACH = 1, /* each frame has a call of its own (up to 3.10) */
	IAPROF_PYTHON_ENTRY_FLAG = 2, /* the frame has a flag, at frame_entry (3.11) */
	/* A frame without a function follows, on the C stack, with entry_owner or more at frame_entry (from 3.12 on) */
	IAPROF_PYTHON_ENTRY_OWNER = 3
};

/* How a frame's position in its code is stored. */
enum iaprof_python_position {
	IAPROF_PYTHON_POSITION_BYTES = 1, /* a signed 32-bit number of bytes (up to 3.9) */
	IAPROF_PYTHON_POSITION_UNITS = 2, /* the same in units of 2 bytes (3.10) */
	IAPROF_PYTHON_POSITION_POINTER = 3
};

/* The format of the line table of a code object. */
enum iaprof_python_lines {
	IAPROF_PYTHON_LINES_NOTAB = 1,    /* co_lnotab (up to 3.9) */
	IAPROF_PYTHON_LINES_TABLE = 2,    /* co_linetable of 3.10, PEP 626 */
	IAPROF_PYTHON_LINES_LOCATIONS = 3 /* co_linetable from 3.11 on */
};

/* Offset of a member that this version lacks. */
#define IAPROF_PYTHON_NONE 0xffff

/* Offsets in the interpreter's structures, in bytes. */
struct iaprof_python_layout {
	__u16 interpreters; /* in _PyRuntime: the list of interpreters */
	__u16 interpreter_next, interpreter_threads;
	__u16 thread_next, thread_interpreter, thread_id;
	__u16 thread_frame; /* the innermost frame, or what contains it: */
	__u16 cframe_frame; /* offset there; IAPROF_PYTHON_NONE: not contained */
	__u16 frame_size;   /* bytes that contain all that is read of a frame */
	__u16 frame_code, frame_previous, frame_position, frame_entry;
	__u16 frame_bytecode; /* number of the thread's own copy of the bytecode; IAPROF_PYTHON_NONE: there are none */
	__u16 entry_owner;
	__u16 code_size; /* bytes that contain all that is read of a code object, except its copies of the bytecode */
	__u16 code_line, code_file, code_name, code_lines, code_bytecode;
	__u16 code_copies; /* the threads' copies of the bytecode */
	__u16 object_type;
	__u16 text_length, text_state, text_ascii, text_compact; /* the last two: characters of ASCII and other text */
	__u16 bytes_length, bytes_data;
	/*
	 * What each call of the evaluation loop has on the C stack (3.10 to 3.11), from the innermost on: its place in
	 * the state of the thread, and that of the next one in it; IAPROF_PYTHON_NONE: not used.
	 */
	__u16 thread_call, call_next;
	__u16 pad[3];
	__u8 entry, position, lines; /* enums above */
	__u8 text_kind_shift;        /* position in the text's state of 3 bits with the size of a character */
};
IAPROF_ASSERT_SIZE(iaprof_python_layout, 72);

struct iaprof_python {
	__u32 version; /* 0x030b: 3.11; 0: not an interpreter */
	__u32 flags;   /* enum iaprof_python_flag */
	/* ELF virtual addresses: */
	__u64 runtime;              /* _PyRuntime */
	__u64 code_type;            /* PyCode_Type */
	__u64 loop[2], loop_end[2]; /* _PyEval_EvalFrameDefault, which can have two parts */
	struct iaprof_python_layout layout;
};
IAPROF_ASSERT_SIZE(iaprof_python, 128);

enum iaprof_python_flag {
	IAPROF_PYTHON_UNKNOWN_LAYOUT = 1, /* an interpreter whose structures are not known: there is no layout */
	IAPROF_PYTHON_GREENLET = 2        /* not an interpreter: the module that switches C stacks, greenlet */
};

#ifdef __cplusplus
}
#endif
#endif
