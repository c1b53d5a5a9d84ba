/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What iaprof and its worker say to each other. The worker is one process that parses nothing; for each image or perf
 * map it forks a child, with which iaprof has a channel of its own. What a child parsed is hostile (the child may have
 * been taken over), so everything that comes from it is checked (remote_image.c, remote_perf_map.c).
 *
 *     iaprof -> worker   SPAWN (+ the child's end of the channel), KILL
 *     worker -> iaprof   SPAWNED
 *     iaprof -> child    LOAD_IMAGE (+ file), UNIT, FILE (+ file or none), ADD_PERF_MAP (+ file), FIND_FUNCTION
 *     child -> iaprof    NEED_FILE, IMAGE, UNIT_LINES, PERF_MAP, FUNCTION
 *
 * Children of iaprof-code-worker, which has a decoder plugin, read device code:
 *
 *     iaprof -> child    LOAD_CODE (+ file), FIND_PLACES
 *     child -> iaprof    CODE, PLACES
 */
#ifndef IAPROF_CORE_SYMBOLIZER_WORKER_MESSAGE_H
#define IAPROF_CORE_SYMBOLIZER_WORKER_MESSAGE_H

#include <stdint.h>
#include <iaprof/record.h>

#define WORKER_PROGRAM "iaprof-worker"
#define CODE_WORKER_PROGRAM "iaprof-code-worker"

enum worker_message {
	WORKER_SPAWN = 1,
	WORKER_KILL,
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
};

struct worker_spawn {
	uint64_t data_limit; /* bytes of memory; UINT64_MAX none */
};

struct worker_child_id {
	int32_t pid; /* SPAWNED: or a negative errno */
};

/* LOAD_IMAGE: the file is the image, whole. */
struct worker_load_image {
	uint32_t lines; /* 1: source lines and inlined functions too */
	uint32_t reserved;
};

/* NEED_FILE: the key follows, as for struct debug_file_finder. FILE answers. */
struct worker_need_file {
	uint32_t kind; /* enum debug_file_kind */
	uint32_t place;
};

struct worker_file {
	int32_t code; /* 0 and a descriptor; else a negative errno */
	uint32_t reserved;
};

/*
 * IMAGE: followed by the segments (struct elf_segment), the ranges of functions and the text of their names, and the
 * ranges of units. Without an image code is a negative errno and all counts are 0.
 */
struct worker_image {
	int32_t code;
	uint32_t damage; /* enum image_damage */
	uint32_t segment_count, range_count, names_size;
	uint32_t unit_count, unit_range_count;
	uint32_t build_id_size;
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
};

/* UNIT */
struct worker_unit {
	uint32_t unit;
};

/* UNIT_LINES: followed by the rows, the files and the scopes (both with names as offsets into the text), the ranges,
   and the text. */
struct worker_unit_lines {
	int32_t code; /* 0, or a negative errno: damaged, what was good is here */
	uint32_t row_count, file_count, scope_count, range_count, text_size;
};

#define WORKER_NO_TEXT UINT32_MAX

struct worker_scope {
	uint32_t name; /* offset, or WORKER_NO_TEXT */
	uint32_t parent, call_file, call_line;
};

/* PERF_MAP answers ADD_PERF_MAP, whose file is the map as it is now. */
struct worker_perf_map {
	int32_t code; /* 0 or a negative errno */
	uint32_t reserved;
	uint64_t memory; /* bytes that the child keeps */
};

/* FIND_FUNCTION */
struct worker_find_function {
	uint64_t address;
};

/* FUNCTION: followed by the name; size 0: none. */
struct worker_function {
	uint64_t start;
	uint32_t size;
	uint32_t reserved;
};

/* LOAD_CODE: the file is the image, sealed. */
struct worker_load_code {
	uint32_t machine; /* what the ELF header must say; 0 any */
};

/*
 * CODE: followed by the sections, the functions, their attributes, and the texts, each ended by a NUL; texts are
 * numbered from 1, 0 is none. Without a code object code is a negative errno and all counts are 0.
 */
struct worker_code {
	int32_t code;
	uint32_t is_placed; /* 0 or 1: the image has addresses of a device */
	uint32_t is_damaged;
	uint32_t section_count, function_count, attribute_count, text_count, text_size;
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
};

struct worker_attribute {
	uint32_t name;
	uint32_t reserved;
	int64_t value;
};

/* FIND_PLACES */
struct worker_find_places {
	uint64_t address; /* the image's own */
};

/* What is asked next is mostly behind what was asked last. */
#define WORKER_PLACES_MAX 64
#define WORKER_PRODUCERS_MAX 64

/*
 * PLACES: the one at the address, and those of its function behind it. Followed by the places, their frames, their
 * producers, and the texts, as in CODE.
 */
struct worker_places {
	uint32_t place_count, frame_count, producer_count, text_count, text_size;
};

struct worker_place {
	uint64_t address;
	uint32_t frame_count; /* the outermost function first */
	uint32_t size, group; /* of the instruction; size 0: none begins here */
	uint32_t mnemonic, waits, text;
	uint32_t producer_count, producers_total, producers_flags;
	uint32_t reserved;
};

struct worker_frame {
	uint32_t name, file, line;
};

#endif
