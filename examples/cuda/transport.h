/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the injected library sends to the plugin. The library connects to the plugin's socket (SOCK_SEQPACKET, abstract)
 * and sends struct cuda_hello with the descriptor of a ring: a memfd that is sealed against changes of its size.
 * Records go through the ring; a cubin is a memfd of its own, sent with struct cuda_cubin. Nothing ever waits: what
 * does not fit is dropped and counted in the ring's head. The plugin trusts nothing that it reads.
 */
#pragma once

#include <stdint.h>

/*
 * In the environment of a program that iaprof starts, and the argument of CUDA_ATTACH in one that runs already: "NAME
 * TOKEN PERIOD SLEEP MODE HOOK RATE CUBINS SAMPLING TIME", numbers in decimal, and the path of CUPTI, if it is stated.
 * TOKEN: what the plugin knows its programs by. HOOK:
 * enum cuda_launches. Each thread calls the hook at most about RATE times a second; 0: at each launch. TIME: enum
 * cuda_times.
 */
#define CUDA_VARIABLE "IAPROF_CUDA"
#define CUDA_SETTINGS_SIZE 1024u
#define CUDA_TOKEN_SIZE 33u
/* Function of the library: begins, returns at once, and ends when the plugin closes its socket. */
#define CUDA_ATTACH "iaprof_cuda_attach"
enum cuda_launches {
	CUDA_LAUNCHES_RING = 0, /* counted in the ring, without stacks */
	CUDA_LAUNCHES_HOOK = 1, /* a BPF program is attached to iaprof_cuda_launched() */
	CUDA_LAUNCHES_NONE = 2
};

enum cuda_times {
	CUDA_TIMES_NONE = 0,
	CUDA_TIMES_KERNELS = 1, /* of all executions */
	CUDA_TIMES_COPIES = 2   /* and of copies */
};

/* A path, instead of that of the settings: this CUPTI and no other. */
#define CUDA_CUPTI_VARIABLE "IAPROF_CUDA_CUPTI"

#define CUDA_MAGIC 0x34616475630a0d00ull
#define CUDA_RING_SIZE (UINT64_C(16) << 20)
#define CUDA_NAME_MAX 4096u
#define CUDA_REASON_MAX 64u

/*
 * The driver sets and copies memory on the device with kernels of its own. They are one here, because CUPTI counts
 * their samples together, without a name, an address or a reason.
 */
#define CUDA_DRIVER_KERNELS "[memset or copy of the CUDA driver]"
#define CUDA_UNSTATED_REASON "unstated"

/* Launches of graphs, as those of a kernel: executions of the kernels in it have their correlation id. */
#define CUDA_GRAPHS "[CUDA graph]"
/* Calls that copy or set memory, likewise. */
#define CUDA_COPIES "[copy]"
/* Nodes of graphs, as launches of a kernel, with their id in place of a correlation id. */
#define CUDA_GRAPH_NODES "[node of a CUDA graph]"

enum cuda_message { CUDA_HELLO = 1, CUDA_CUBIN = 2 };

struct cuda_hello {
	uint64_t magic;
	uint32_t type;
	uint32_t pad;
	uint64_t ring_size; /* without the head: a power of two */
	uint64_t time;
	char token[32]; /* without a NUL */
};

struct cuda_cubin {
	uint64_t magic;
	uint32_t type;
	uint32_t module;
	uint64_t crc;
	uint64_t size;
	uint64_t time;
};

enum cuda_drop {
	CUDA_DROP_RECORDS,    /* records: the ring was full */
	CUDA_DROP_SAMPLES,    /* samples: in records that were dropped */
	CUDA_DROP_LAUNCHES,   /* launches: likewise, or too many names */
	CUDA_DROP_CUBINS,     /* cubins: the socket was full, or no memory */
	CUDA_DROP_HARDWARE,   /* samples: dropped by the GPU */
	CUDA_DROP_FULL,       /* times that the GPU's buffer was full: its samples are lost */
	CUDA_DROP_UNLISTED,   /* samples: in the driver's kernels, and no reason is free for them */
	CUDA_DROP_EXECUTIONS, /* executions: the ring or CUPTI's buffers were full, or too many names */
	CUDA_DROP_TIMES,      /* executions: CUPTI states no time */
	CUDA_DROP_COPIES,     /* copies: the ring was full, or CUPTI does not state their direction */
	CUDA_DROP_COPY_TIMES, /* copies: CUPTI states no time */
	CUDA_DROP_COUNT
};

/* The first page of a ring. */
struct cuda_ring {
	uint64_t magic;
	uint64_t size;
	uint64_t head; /* written by the library: bytes so far */
	uint64_t tail; /* written by the plugin */
	uint64_t dropped[CUDA_DROP_COUNT];
};
#define CUDA_RING_HEAD_SIZE 4096u

/* As enum iaprof_copy, which the library does not see. */
enum cuda_copy {
	CUDA_COPY_HOST_TO_DEVICE = 1,
	CUDA_COPY_DEVICE_TO_HOST = 2,
	CUDA_COPY_ON_DEVICE = 3,
	CUDA_COPY_BETWEEN_DEVICES = 4,
	CUDA_COPY_ON_HOST = 5,
	CUDA_COPY_SET = 6
};

enum cuda_record_type {
	CUDA_RECORD_DEVICE = 1,
	CUDA_RECORD_REASON = 2,
	CUDA_RECORD_FUNCTION = 3,
	CUDA_RECORD_KERNEL = 4,
	CUDA_RECORD_LAUNCH = 5,
	CUDA_RECORD_SAMPLES = 6,
	CUDA_RECORD_UNLOAD = 7,
	CUDA_RECORD_MESSAGE = 8,
	CUDA_RECORD_CUPTI = 9,
	CUDA_RECORD_EXECUTION = 10,
	CUDA_RECORD_NODE = 11
};

/* Each record: a multiple of 8 bytes. Text follows the struct, without a NUL, to the end in length. */
struct cuda_record {
	uint32_t size;
	uint32_t type;
};

struct cuda_device { /* text: "ADDRESS NAME" */
	struct cuda_record header;
	uint32_t id; /* CUDA's number */
	uint32_t length;
};

struct cuda_reason { /* text: CUPTI's name */
	struct cuda_record header;
	uint32_t index;
	uint32_t length;
};

struct cuda_function { /* text: name; of code that was sampled */
	struct cuda_record header;
	uint32_t id; /* >= 1, ascending */
	uint32_t length;
	uint64_t crc; /* of its cubin */
};

struct cuda_kernel { /* text: name; of a kernel that was launched */
	struct cuda_record header;
	uint32_t id; /* >= 1, ascending */
	uint32_t length;
};

struct cuda_cupti { /* where CUPTI is mapped: its frames below a launch are the profiler's, not the program's */
	struct cuda_record header;
	uint64_t begin, end;
};

struct cuda_launch {
	struct cuda_record header;
	uint32_t kernel;
	uint32_t tid;
	uint64_t count;
	uint64_t first_time, last_time; /* CLOCK_MONOTONIC, as all times */
};

struct cuda_execution {
	struct cuda_record header;
	uint32_t kernel; /* of a CUDA_RECORD_KERNEL */
	uint32_t device;
	uint64_t begin, end;
	uint32_t correlation; /* of the launch: third argument of the hook */
	uint32_t stream;
	uint32_t graph; /* 0: none */
	uint32_t copy;  /* enum cuda_copy; 0: a kernel */
	uint64_t node;  /* of the graph */
	uint64_t bytes; /* of a copy */
};

struct cuda_samples { /* count reasons follow */
	struct cuda_record header;
	uint32_t function;
	uint32_t device;
	uint64_t begin, end;
	uint64_t offset; /* in the function */
	uint32_t count;
	uint32_t pad;
};
struct cuda_sample {
	uint32_t reason;
	uint32_t count;
};

struct cuda_unload {
	struct cuda_record header;
	uint64_t time;
	uint32_t module;
	uint32_t pad;
};

struct cuda_node { /* of a graph: a clone */
	struct cuda_record header;
	uint64_t id;
	uint64_t original;
};

enum cuda_text_kind { CUDA_TEXT_FACT, CUDA_TEXT_WARNING, CUDA_TEXT_NOT_PROFILED };

struct cuda_text { /* text: a message for the user */
	struct cuda_record header;
	uint32_t kind; /* enum cuda_text_kind */
	uint32_t length;
};
