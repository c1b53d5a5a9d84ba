/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * iaprof/unwind.h - unwind tables: how to get from a frame to its caller at each address of an ELF file, made by the
 * core from .eh_frame (System V ABI, AMD64 Architecture Processor Supplement, 3.6.2; LSB Core, Exception Frames). For
 * sources that unwind user stacks; BPF programs include it, too. Not part of the stable interface: what this header
 * declares is the extension "unwind-1" (host->extension() in iaprof/host.h), which later versions may replace.
 *
 * A row is 4 bytes, because a program has 20,000 of them per MB of code; rules repeat, and exist once. Rows are grouped
 * by pages of code: index[p] is the position of the first row of page p, and index[page_count] is the number of rows.
 * The first row of each page is at offset 0: a search never leaves its page.
 */
#ifndef IAPROF_UNWIND_H
#define IAPROF_UNWIND_H

#include <linux/types.h>
#include <iaprof/layout.h>
#include <iaprof/python.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IAPROF_UNWIND_PAGE_BITS 12
#define IAPROF_UNWIND_PAGE_SIZE (1u << IAPROF_UNWIND_PAGE_BITS)

/* Applies from offset to the next row of the page, or to the end of the page. */
struct iaprof_unwind_row {
	__u16 offset; /* in the page */
	__u16 rule;   /* position of a rule; 0: unwind_rules[0], which is IAPROF_UNWIND_CFA_NONE */
};
IAPROF_ASSERT_SIZE(iaprof_unwind_row, 4);

/* How the canonical frame address is calculated: the stack pointer of the caller after the call. */
enum iaprof_unwind_cfa {
	IAPROF_UNWIND_CFA_NONE = 0,  /* no rule: not code, or a rule that needs other registers */
	IAPROF_UNWIND_CFA_END = 1,   /* the outermost frame: there is no caller */
	IAPROF_UNWIND_CFA_STACK = 2, /* stack pointer + cfa_offset */
	IAPROF_UNWIND_CFA_FRAME = 3, /* frame pointer + cfa_offset */
	/*
	 * A value and an addend: the low 16 bits of cfa_offset are the offset of the value from the frame pointer (a
	 * realigned stack) or the stack pointer (assembler), the high ones are added to the value. Both are signed.
	 */
	IAPROF_UNWIND_CFA_FRAME_VALUE = 4,
	IAPROF_UNWIND_CFA_STACK_VALUE = 5,
	IAPROF_UNWIND_CFA_PLT = 6, /* stack pointer + 8, or + 16 from byte cfa_offset of each 16 bytes of code on */
	/*
	 * Another register and an addend: the low 16 bits of cfa_offset are its DWARF number (0 to 15, x86-64), the
	 * high ones the signed addend. Of use in the frame that was interrupted, whose registers are all known, and in
	 * its callers if the register is not one that functions save.
	 */
	IAPROF_UNWIND_CFA_REGISTER = 7,
	/*
	 * A value and an addend, as with IAPROF_UNWIND_CFA_STACK_VALUE. The value is at stack pointer + offset + 8 *
	 * another register: the low 4 bits are the register's number, the next 12 the signed offset.
	 */
	IAPROF_UNWIND_CFA_INDEXED_VALUE = 8,
	IAPROF_UNWIND_CFA_SWITCHED = 9, /* by frame pointer, which is in another stack at any address */
};

/* Where a register of the caller is. */
enum iaprof_unwind_register {
	IAPROF_UNWIND_SAME = 0,      /* not changed */
	IAPROF_UNWIND_AT_CFA = 1,    /* saved at CFA + offset */
	IAPROF_UNWIND_AT_FRAME = 2,  /* saved at frame pointer + offset */
	IAPROF_UNWIND_UNDEFINED = 3, /* not known */
	IAPROF_UNWIND_IN_OTHER = 4,  /* in a register that is not followed */
	IAPROF_UNWIND_AT_STACK = 5,  /* saved at stack pointer + offset */
};

enum iaprof_unwind_flag {
	/*
	 * The frame that the Linux kernel made for a signal handler: the return address is that of the instruction that
	 * was interrupted, not of the one behind a call.
	 */
	IAPROF_UNWIND_SIGNAL_FRAME = 1,
};

struct iaprof_unwind_rule {
	__u8 cfa;            /* enum iaprof_unwind_cfa */
	__u8 frame;          /* enum iaprof_unwind_register: the frame pointer (rbp, x29) */
	__u8 return_address; /* enum iaprof_unwind_register: the return address; IAPROF_UNWIND_SAME: in the link
				register (aarch64) */
	__u8 flags;          /* enum iaprof_unwind_flag */
	__s32 cfa_offset;
	__s32 frame_offset;
	__s32 return_offset;
};
IAPROF_ASSERT_SIZE(iaprof_unwind_rule, 16);

/* How to find the variable of each thread that points to the span it works on: otel_thread_ctx_v1, of OTEP 4947. */
enum iaprof_thread_context_access {
	IAPROF_THREAD_CONTEXT_NONE = 0,       /* the file does not define the variable */
	IAPROF_THREAD_CONTEXT_UNKNOWN = 1,    /* it does, but nothing in it states where the variable is */
	IAPROF_THREAD_CONTEXT_OFFSET = 2,     /* thread pointer + offset: in the program's own file */
	IAPROF_THREAD_CONTEXT_STATIC = 3,     /* the word at slot is the offset from the thread pointer (TPOFF) */
	IAPROF_THREAD_CONTEXT_DESCRIPTOR = 4, /* two words at slot are a TLS descriptor (TLSDESC) */
	IAPROF_THREAD_CONTEXT_MODULE = 5      /* two words at slot are a module and an offset in it (DTPMOD, DTPOFF) */
};

enum iaprof_thread_context_flag {
	/*
	 * The file is part of glibc, or uses it: in its processes, a thread's list of modules, from which the place of
	 * a module's variables follows, has the layout of glibc. Also set in files without the variable.
	 */
	IAPROF_THREAD_CONTEXT_GLIBC = 1,
	/* The same of musl. */
	IAPROF_THREAD_CONTEXT_MUSL = 2
};

struct iaprof_thread_context {
	__u32 access; /* enum iaprof_thread_context_access */
	__u32 flags;  /* enum iaprof_thread_context_flag */
	__u64 slot;   /* ELF virtual address */
	__s64 offset; /* in bytes */
};
IAPROF_ASSERT_SIZE(iaprof_thread_context, 24);

/*
 * The table of one file. Borrowed for the duration of the call. Without pages, no process uses the table any more: it
 * can be released, and is sent again, with the same id, before a process uses it.
 */
struct iaprof_unwind_table {
	__u32 size;       /* sizeof(struct iaprof_unwind_table) in the core */
	__u32 id;         /* >= 1, unique in the run */
	__u64 first_page; /* ELF virtual address >> IAPROF_UNWIND_PAGE_BITS of the first page */
	__u32 page_count, row_count, rule_count;
	__u32 pad;
	const __u32 *index; /* page_count + 1 positions, ascending, from 0 to row_count */
	const struct iaprof_unwind_row *rows;
	const struct iaprof_unwind_rule *rules;             /* the first has IAPROF_UNWIND_CFA_NONE */
	const struct iaprof_python *python;                 /* the CPython interpreter in the file; NULL: it has none */
	const struct iaprof_thread_context *thread_context; /* the variable of threads; NULL: nothing is known of it */
};
IAPROF_ASSERT_SIZE(iaprof_unwind_table, 72);

/* An executable mapping. */
struct iaprof_unwind_mapping {
	__u64 start, end; /* [start, end) in the process */
	__u64 bias;       /* address in the process minus ELF virtual address */
	__u32 table;      /* id of a table that was sent before; 0: none, unwind by frame pointers */
	__u32 pad;
};
IAPROF_ASSERT_SIZE(iaprof_unwind_mapping, 32);

/* Replaces what was sent of a process before. Borrowed for the duration of the call. */
struct iaprof_unwind_process {
	__u32 size; /* sizeof(struct iaprof_unwind_process) in the core */
	__u32 pid;
	__u64 execution;                              /* as in the request */
	const struct iaprof_unwind_mapping *mappings; /* by address; they do not overlap */
	__u32 mapping_count;                          /* 0: the process has ended, or has another program */
	__u32 pad;
};
IAPROF_ASSERT_SIZE(iaprof_unwind_process, 32);

#ifndef __bpf__
struct iaprof_host;
/* One of table and process is not NULL. Returns 0, or a negative errno, which ends the source. */
typedef int iaprof_on_unwind(const struct iaprof_host *host, void *instance, const struct iaprof_unwind_table *table,
			     const struct iaprof_unwind_process *process);

#define IAPROF_UNWIND_EXTENSION "unwind-1"

/* Sources with IAPROF_PLUGIN_NEEDS_PROCESSES, on the loop's thread. */
struct iaprof_unwind_extension {
	__u32 size; /* sizeof(struct iaprof_unwind_extension) in the core */
	__u32 pad;
	/*
	 * In prepare(): calls back with unwind tables, and with the mappings of processes for which unwind_process()
	 * asked. Between prepare() and finish(): tables of the target's processes come before start(), and after stop()
	 * the run waits at most half a second for what was asked for. Returns 0; -EINVAL without that flag, if callback
	 * is NULL, or for a second call; -ENOTSUP if the host makes no tables; or another negative errno.
	 */
	int (*on_unwind)(const struct iaprof_host *host, iaprof_on_unwind *callback);
	/*
	 * Asks for the mappings of a process and the tables of the files that it has mapped. They are sent within
	 * milliseconds, and again when the mappings change; mappings of files that are still being read are left out
	 * until then. A process that has ended has mappings, too; about a second after its end it is sent without any.
	 * A fork of a process that was asked for is sent without being asked for. execution: the number of execve(2)
	 * calls so far (task_struct.self_exec_id), which is sent back, so that the mappings of one program are not used
	 * for the next one in the same process. May be called for each sample that needs it; ignored without
	 * on_unwind().
	 */
	void (*unwind_process)(const struct iaprof_host *host, __u32 pid, __u64 execution);
};
IAPROF_ASSERT_SIZE(iaprof_unwind_extension, 24);
#endif

#ifdef __cplusplus
}
#endif
#endif
