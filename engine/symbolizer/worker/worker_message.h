/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between iaprof and its worker. The worker is one process that parses nothing; for each image or perf map it
 * forks a child, with its own channel to iaprof. Children parse hostile data and may be compromised, so everything they
 * send is validated (remote_read.c, remote_image.c, device/remote_code.c).
 *
 *     iaprof -> worker   SPAWN (+ the child's end of the channel), EXAMINE, KILL
 *     worker -> iaprof   SPAWNED
 *     iaprof -> child    LOAD_IMAGE (+ file), UNIT, FILE (+ file or none), ADD_PERF_MAP (+ file), FIND_FUNCTION,
 *                        LOAD_UNWIND (+ file), COMPARE_FILE (+ file), COMPARE (+ memory)
 *     child -> iaprof    NEED_FILE, IMAGE, UNIT_LINES, PERF_MAP, FUNCTION, UNWIND, COMPARED
 *
 * Children of iaprof-code-worker, which has a decoder plugin, read device code:
 *
 *     iaprof -> child    LOAD_CODE (+ file), FIND_PLACES
 *     child -> iaprof    CODE, PLACES
 */
#pragma once

#include <stdint.h>
#include <iaprof/unwind.h>
#include <iaprof/record.h>

#define WORKER_PROGRAM "iaprof-worker"
#define CODE_WORKER_PROGRAM "iaprof-code-worker"

enum worker_message {
	WORKER_SPAWN = 1,
	WORKER_KILL,
	WORKER_EXAMINE, /* asks a child whether its plugin returns: PLUGIN_EXAMINE_SIGNAL */
	WORKER_SPAWNED,
	WORKER_LOAD_IMAGE,
	WORKER_UNIT,
	WORKER_FILE,
	WORKER_NEED_FILE,
	WORKER_IMAGE,
	WORKER_UNIT_LINES,
	WORKER_ADD_PERF_MAP,
	WORKER_PERF_MAP,
	WORKER_FIND_FUNCTION,
	WORKER_FUNCTION,
	WORKER_LOAD_CODE,
	WORKER_CODE,
	WORKER_FIND_PLACES,
	WORKER_PLACES,
	WORKER_LOAD_UNWIND,
	WORKER_UNWIND,
	WORKER_COMPARE_FILE,
	WORKER_COMPARE,
	WORKER_COMPARED,
};

struct worker_spawn {
	uint64_t data_limit; /* memory limit in bytes; UINT64_MAX if none */
	uint64_t is_trusted; /* the file is one that budget.h trusts: the child keeps the worker's priority */
};

struct worker_child_id {
	int32_t pid; /* SPAWNED: pid, or a negative errno */
};

/* LOAD_IMAGE: with the file. */
struct worker_load_image {
	uint32_t lines; /* 1: also source lines and inlined functions */
	uint32_t reserved;
};

/* NEED_FILE: followed by the key, as in struct debug_file_finder. Answered by FILE. */
struct worker_need_file {
	uint32_t kind; /* enum debug_file_kind */
	uint32_t place;
};

struct worker_file {
	int32_t code; /* 0, with a descriptor; or a negative errno */
	uint32_t reserved;
};

/*
 * IMAGE: followed by the segments (struct elf_segment), the ranges of functions, their names, and the ranges of units.
 * After a failure, code is a negative errno and all counts are 0.
 */
struct worker_image {
	int32_t code;
	uint32_t damage; /* enum elf_image_damage */
	uint32_t segment_count, range_count, names_size;
	uint32_t unit_count, unit_range_count;
	uint32_t build_id_size;
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
};

/* UNIT */
struct worker_unit {
	uint32_t unit;
};

/*
 * UNIT_LINES: followed by the rows, the files and the scopes (both with names as offsets into the text), the ranges,
 * and the text.
 */
struct worker_unit_lines {
	int32_t code; /* 0, or a negative errno: damaged, only the valid part follows */
	uint32_t row_count, file_count, scope_count, range_count, text_size;
};

#define WORKER_NO_TEXT UINT32_MAX

struct worker_scope {
	uint32_t name; /* offset, or WORKER_NO_TEXT */
	uint32_t parent, call_file, call_line;
};

/* PERF_MAP: answer to ADD_PERF_MAP, which comes with the current file. */
struct worker_perf_map {
	int32_t code; /* 0 or a negative errno */
	uint32_t reserved;
	uint64_t memory; /* memory of the child in bytes */
};

/* FIND_FUNCTION */
struct worker_find_function {
	uint64_t address;
};

/* FUNCTION: followed by the name of this size; 0: no function. */
struct worker_function {
	uint64_t start;
	uint32_t size;
	uint32_t reserved;
};

/*
 * UNWIND: answer to LOAD_UNWIND, which comes with the file. Followed by the segments (struct elf_segment), the index of
 * page_count + 1 positions, the rows and the rules (struct unwind_table).
 */
struct worker_unwind {
	int32_t code; /* 0, or a negative errno: only the segments follow */
	uint32_t segment_count, page_count, row_count, rule_count;
	uint32_t skipped; /* functions whose rules could not be read */
	uint64_t first_page;
	struct iaprof_python python;
	struct iaprof_thread_context thread_context;
};

/* COMPARE: with /proc/PID/mem, after COMPARE_FILE with the file that the code in this memory may be copied from. */
struct worker_compare {
	uint64_t address, size;
	uint64_t file_offset; /* of the address, if the memory belonged to the mapping beside it */
};

struct worker_compared {
	int32_t code; /* 0 or a negative errno: -ENODATA if it is no copy */
	uint32_t reserved;
	int64_t shift; /* file_offset + shift is the offset of the address */
};

/* LOAD_CODE: with the image in a sealed file. */
struct worker_load_code {
	uint32_t machine; /* required e_machine; 0 any */
};

/*
 * CODE: followed by the sections, the functions, their attributes, their callers (uint32_t positions of functions), and
 * the texts, each with a NUL; texts are numbered from 1, 0 is none. After a failure, code is a negative errno and all
 * counts are 0.
 */
struct worker_code {
	int32_t code;
	uint32_t addresses; /* enum iaprof_image_addresses, except UNSTATED */
	uint32_t is_damaged;
	uint32_t section_count, function_count, attribute_count, text_count, text_size;
	uint32_t caller_count;
	uint32_t reserved;
	uint64_t base;           /* base of RELATIVE addresses */
	uint64_t unplaced_units; /* units of debug information without an address */
};

struct worker_section {
	uint32_t name;
	uint32_t kernel; /* as in struct code_section */
	uint64_t address, size;
};

struct worker_code_function {
	uint32_t name, shown;
	uint64_t address, size;
	uint32_t section;
	uint32_t is_kernel; /* 0 or 1 */
	uint32_t attribute, attribute_count;
	uint32_t caller, caller_count;
};

struct worker_attribute {
	uint32_t name;
	uint32_t reserved;
	int64_t value;
};

/* FIND_PLACES */
struct worker_find_places {
	uint64_t address; /* image address */
};

/* Answers contain the following addresses, which are usually requested next. */
#define WORKER_PLACES_MAX 64
#define WORKER_PRODUCERS_MAX 64

/*
 * PLACES: the requested address and those after it in its function. Followed by the places, their frames, their
 * producers, and the texts, as in CODE.
 */
struct worker_places {
	uint32_t place_count, frame_count, producer_count, text_count, text_size;
};

struct worker_place {
	uint64_t address;
	uint32_t frame_count; /* the outermost function first */
	uint32_t size, group; /* size and group of the instruction; size 0: no instruction begins here */
	uint32_t mnemonic, waits, text;
	uint32_t producer_count, producers_total, producers_flags;
	uint32_t is_undecodable; /* the code has a decoder, for which no instruction begins here */
};

struct worker_frame {
	uint32_t name, file, line;
};
