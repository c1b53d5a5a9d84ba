/* SPDX-License-Identifier: GPL-2.0-only */
/* Scenarios: a platform and rows, read from text. README.md has the language. */
#pragma once

#include "device.h"

/* Rows after splitting and spreading over Xe-cores: 11 MiB of them. */
#define SCENARIO_ROWS_MAX 65536u
#define SCENARIO_LINE_MAX 1024u
#define SCENARIO_LOOP_FOREVER 0
#define SCENARIO_RATE_MAX 100000000ull

enum scenario_pace {
	PACE_TIME,     /* at the rows' own times */
	PACE_RATE,     /* so many rows a second */
	PACE_LOSSLESS, /* as soon as there is room */
};

/* A row of the scenario as the hardware writes it, and what became of it. */
struct scenario_row {
	u8 bytes[XE_ROW_SIZE];
	u64 time; /* nanoseconds from the start of a loop */
	u64 address;
	u8 gt;
	u8 core;
	u8 counters[STALL_REASON_COUNT];
	u64 produced;
	u64 dropped;
	u64 unsampled;
	u64 read;
	u64 discarded;
};

struct scenario {
	struct platform platform;
	struct scenario_row *rows;
	u32 row_count;
	u32 row_room;
	enum scenario_pace pace;
	u64 rate;
	u64 loops;           /* SCENARIO_LOOP_FOREVER */
	u64 period;          /* nanoseconds from the start of a loop to the next, with PACE_TIME */
	bool play_always;    /* also while no stream is enabled */
	u32 *by_address;     /* numbers of rows in the order of GT and address */
	u32 *address_starts; /* where in by_address each distinct pair of GT and address starts */
	u32 address_count;
};

/* A scenario while it is written. Everything is refused after an error. */
struct scenario_writer {
	struct xe_device *xe;
	struct scenario *scenario;
	char line[SCENARIO_LINE_MAX + 1];
	size_t line_length;
	u32 line_number;
	bool has_platform;
	bool has_gt; /* gt lines replace those of the preset */
	bool failed;
	bool ended;
};

struct scenario *scenario_create(void);
/* NULL is fine. */
void scenario_free(struct scenario *scenario);

/* Takes text, line by line. `end` installs the scenario. Returns 0 or a negative errno after control_error(). */
int scenario_write(struct scenario_writer *writer, const char *text, size_t length);
/* The writer closed its file. */
void scenario_close(struct scenario_writer *writer);

/* scenario_row.c: a line that starts with `row`; fields are the words after it. */
int scenario_parse_row(struct scenario_writer *writer, char **fields);
__printf(2, 3) int scenario_error(struct scenario_writer *writer, const char *format, ...);
/* "5us" and the like. Returns -EINVAL for anything else. */
int scenario_parse_time(const char *text, u64 *time);
