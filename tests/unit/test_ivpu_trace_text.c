/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of bpftrace about calls: each form that it writes, and what is none. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "../run_suite.h"

#define CALL TRACE_LINE_CALL
#define COUNT TRACE_LINE_COUNT
#define NOTHING TRACE_LINE_NOTHING
#define REFUSED TRACE_LINE_REFUSED
#define NAME_32 "abcdefghijklmnopqrstuvwxyzABCDEF"

static const struct {
	const char *text;
	enum trace_line_kind kind;
	const char *name;
	enum trace_time time_kind;
	uint64_t time, count;
	const char *map;
} lines[] = {
	{ "kprobe:intel_vpu:ivpu_open", CALL, "ivpu_open", 0, 0, 0, "" },
	{ "kprobe:ivpu_open\r", CALL, "ivpu_open", 0, 0, 0, "" },
	{ "  fentry:intel_vpu:ivpu_open  ", CALL, "ivpu_open", 0, 0, 0, "" },
	{ "kfunc:ivpu_open", CALL, "ivpu_open", 0, 0, 0, "" },
	{ "kprobe:intel_vpu:ivpu_cmdq_fini.isra.0", CALL, "ivpu_cmdq_fini.isra.0", 0, 0, 0, "" },
	{ "00:00:01 kprobe:ivpu_open", CALL, "ivpu_open", TRACE_TIME_OF_DAY, 1000000000, 0, "" },
	{ "12:34:56.5 kprobe:ivpu_open", CALL, "ivpu_open", TRACE_TIME_OF_DAY, 45296500000000, 0, "" },
	{ "123456789 kprobe:ivpu_open", CALL, "ivpu_open", TRACE_TIME_NANOSECONDS, 123456789, 0, "" },
	{ "18446744073709551615\tkprobe:x", CALL, "x", TRACE_TIME_NANOSECONDS, UINT64_MAX, 0, "" },
	{ "12.345678 kprobe:ivpu_open", CALL, "ivpu_open", TRACE_TIME_SECONDS, 12345678000, 0, "" },
	{ "[12.345] kprobe:intel_vpu:x", CALL, "x", TRACE_TIME_SECONDS, 12345000000, 0, "" },
	{ "12.0000000019 kprobe:x", CALL, "x", TRACE_TIME_SECONDS, 12000000001, 0, "" },
	{ "kprobe:" NAME_32 NAME_32 NAME_32 "abcdefghijklmnopqrstuvwxyzABCDE", CALL,
	  NAME_32 NAME_32 NAME_32 "abcdefghijklmnopqrstuvwxyzABCDE", 0, 0, 0, "" },
	{ "@[kprobe:intel_vpu:ivpu_open]: 123", COUNT, "ivpu_open", 0, 0, 123, "" },
	{ "@calls[kprobe:ivpu_open]: 1", COUNT, "ivpu_open", 0, 0, 1, "calls" },
	{ "@[ivpu_open]: 0", COUNT, "ivpu_open", 0, 0, 0, "" },
	{ "@ivpu_open: 12", COUNT, "ivpu_open", 0, 0, 12, "" },
	{ "@n[python3, kprobe:intel_vpu:x]: 7", COUNT, "x", 0, 0, 7, "n" },
	{ "Attaching 223 probes...", TRACE_LINE_HEADER, "", 0, 0, 0, "" },
	{ "Attached 1 probe", TRACE_LINE_HEADER, "", 0, 0, 0, "" },
	{ "Lost 12 events", TRACE_LINE_LOST, "", 0, 0, 12, "" },
	{ "", NOTHING, "", 0, 0, 0, "" },
	{ " \t\r", NOTHING, "", 0, 0, 0, "" },
	{ "kretprobe:intel_vpu:ivpu_open", NOTHING, "", 0, 0, 0, "" },
	{ "@us[kprobe:ivpu_open]: ", NOTHING, "", 0, 0, 0, "" },
	{ "@: count 3, average 7, total 21", NOTHING, "", 0, 0, 0, "" },
	{ "[4, 8)    12 |@@@@@@@@       |", NOTHING, "", 0, 0, 0, "" },
	{ "[1K, 2K)  12 |               |", NOTHING, "", 0, 0, 0, "" },
	{ "(..., 0)   3 |@|", NOTHING, "", 0, 0, 0, "" },
	{ "kprobe:", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:intel_vpu:", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:intel_vpu:ivpu open", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:intel_vpu:a:b", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:1open", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:ivpu_\x1b[31m", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:ivpu;open", REFUSED, "", 0, 0, 0, "" },
	{ "kprobe:" NAME_32 NAME_32 NAME_32 NAME_32, REFUSED, "", 0, 0, 0, "" },
	{ "ivpu_open", REFUSED, "", 0, 0, 0, "" },
	{ "12:34 kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "24:00:00 kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "12:34:56", REFUSED, "", 0, 0, 0, "" },
	{ "12kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "12. kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "[12 kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "18446744073709551616 kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "18446744073709551615.5 kprobe:x", REFUSED, "", 0, 0, 0, "" },
	{ "@", REFUSED, "", 0, 0, 0, "" },
	{ "@: 12", REFUSED, "", 0, 0, 0, "" },
	{ "@[kprobe:x: 12", REFUSED, "", 0, 0, 0, "" },
	{ "@[kprobe:x]: -1", REFUSED, "", 0, 0, 0, "" },
	{ "@[kprobe:x]: 12 times", REFUSED, "", 0, 0, 0, "" },
	{ "@[kprobe:x]: 18446744073709551616", REFUSED, "", 0, 0, 0, "" },
	{ "@[0x1234]: 12", REFUSED, "", 0, 0, 0, "" },
	{ "Lost many events", REFUSED, "", 0, 0, 0, "" },
	{ "stdin:1:1-5: WARNING: x", REFUSED, "", 0, 0, 0, "" },
};
#define LINE_COUNT (int)(sizeof lines / sizeof *lines)

TEST_LOOP(says_what_a_line_is, 0, LINE_COUNT)
{
	/* A copy of exactly its size, for what looks at bytes beyond the end. */
	size_t size = strlen(lines[_i].text);
	char *text = malloc(size ? size : 1);
	ck_assert_ptr_nonnull(text);
	memcpy(text, lines[_i].text, size);
	struct trace_line line;
	trace_line_parse(text, size, &line);
	free(text);
	ck_assert_msg(line.kind == lines[_i].kind, "\"%s\" is %d, not %d", lines[_i].text, line.kind, lines[_i].kind);
	ck_assert_str_eq(line.name, lines[_i].name);
	ck_assert_int_eq(line.kind == REFUSED, line.why != NULL);
	if (line.kind != CALL && line.kind != COUNT && line.kind != TRACE_LINE_LOST)
		return;
	ck_assert_int_eq(line.time_kind, lines[_i].time_kind);
	ck_assert_uint_eq(line.time, lines[_i].time);
	ck_assert_uint_eq(line.count, lines[_i].count);
	ck_assert_str_eq(line.map, lines[_i].map);
}

TEST(refuses_long_lines_and_control_bytes)
{
	char text[TRACE_LINE_SIZE_MAX + 1];
	struct trace_line line;
	memset(text, ' ', sizeof text);
	trace_line_parse(text, sizeof text - 1, &line);
	ck_assert_int_eq(line.kind, NOTHING);
	trace_line_parse(text, sizeof text, &line);
	ck_assert_int_eq(line.kind, REFUSED);
	for (int byte = 0; byte < 256; byte++) {
		char call[] = "kprobe:a?b";
		call[8] = (char)byte;
		trace_line_parse(call, sizeof call - 1, &line);
		bool is_good =
			byte && strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.$", byte);
		/* "a:b" is function b of module a. */
		ck_assert_int_eq(line.kind, is_good || byte == ':' ? CALL : REFUSED);
	}
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
