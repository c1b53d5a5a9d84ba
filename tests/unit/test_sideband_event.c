/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of the side-band: perf records, /proc texts, and the text of paths. Records are built as the kernel's. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_parser.h"
#include "process/sideband_event.h"
#include "process/sideband_writer.h"
#include "../run_suite.h"

/* A record being built, as the comments of linux/perf_event.h lay it out. */
struct builder {
	union {
		struct perf_event_header header;
		_Alignas(8) unsigned char bytes[512];
	};
	size_t size;
};

static void put(struct builder *builder, const void *bytes, size_t size)
{
	memcpy(&builder->bytes[builder->size], bytes, size);
	builder->size += size;
}

static void put32(struct builder *builder, uint32_t value)
{
	put(builder, &value, sizeof value);
}

static void put64(struct builder *builder, uint64_t value)
{
	put(builder, &value, sizeof value);
}

static void put_text(struct builder *builder, const char *text)
{
	char padded[256] = { 0 };
	memcpy(padded, text, strlen(text));
	put(builder, padded, (strlen(text) + 1 + 7) & ~(size_t)7);
}

static struct builder begin(uint32_t type, uint16_t misc)
{
	struct builder builder = { .size = 0 };
	struct perf_event_header header = { .type = type, .misc = misc };
	put(&builder, &header, sizeof header);
	return builder;
}

/* The trailer, and the size. */
static void finish(struct builder *builder, uint64_t time)
{
	put32(builder, 7);
	put32(builder, 8);
	put64(builder, time);
	put32(builder, 3);
	put32(builder, 0);
	builder->header.size = (uint16_t)builder->size;
}

static struct sideband_event decode(const struct builder *builder)
{
	struct sideband_event event;
	ck_assert_uint_eq(sideband_event_size(builder->bytes, sizeof builder->bytes), builder->size);
	ck_assert(sideband_event_decode(builder->bytes, builder->size, &event));
	return event;
}

static void check_text(const struct sideband_event *event, const char *text)
{
	ck_assert_uint_eq(event->text_length, strlen(text));
	ck_assert_mem_eq(event->text, text, strlen(text));
}

static struct builder build_mapping(uint32_t protection, const char *path)
{
	struct builder builder = begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put32(&builder, 100);
	put32(&builder, 101);
	put64(&builder, 0x7f0000001000);
	put64(&builder, 0x2000);
	put64(&builder, 0x5000);
	put32(&builder, 254);
	put32(&builder, 1);
	put64(&builder, 4711);
	put64(&builder, 42);
	put32(&builder, protection);
	put32(&builder, 2);
	put_text(&builder, path);
	finish(&builder, 12345);
	return builder;
}

TEST(decodes_tasks)
{
	struct builder builder = begin(PERF_RECORD_FORK, 0);
	put32(&builder, 100);
	put32(&builder, 50);
	put32(&builder, 100);
	put32(&builder, 51);
	put64(&builder, 998);
	finish(&builder, 999);
	struct sideband_event event = decode(&builder);
	ck_assert_int_eq(event.kind, SIDEBAND_FORK);
	ck_assert_uint_eq(event.pid, 100);
	ck_assert_uint_eq(event.parent_pid, 50);
	ck_assert_uint_eq(event.time, 999);

	builder.header.type = PERF_RECORD_EXIT;
	ck_assert_int_eq(decode(&builder).kind, SIDEBAND_EXIT);

	builder = begin(PERF_RECORD_LOST, 0);
	put64(&builder, 1);
	put64(&builder, 77);
	finish(&builder, 5);
	event = decode(&builder);
	ck_assert_int_eq(event.kind, SIDEBAND_LOST);
	ck_assert_uint_eq(event.lost, 77);
}

TEST(decodes_names)
{
	for (uint16_t misc = 0; misc <= 1 << 13; misc = (uint16_t)(misc + (1 << 13))) { /* PERF_RECORD_MISC_COMM_EXEC */
		struct builder builder = begin(PERF_RECORD_COMM, misc);
		put32(&builder, 100);
		put32(&builder, 101);
		put_text(&builder, "a name");
		finish(&builder, 5);
		struct sideband_event event = decode(&builder);
		ck_assert_int_eq(event.kind, misc ? SIDEBAND_EXEC : SIDEBAND_NAME);
		ck_assert_uint_eq(event.pid, 100);
		ck_assert_uint_eq(event.tid, 101);
		check_text(&event, "a name");
	}
	/* Without a NUL before the trailer. */
	struct builder builder = begin(PERF_RECORD_COMM, 0);
	put64(&builder, 100);
	put(&builder, "12345678", 8);
	finish(&builder, 5);
	struct sideband_event event = decode(&builder);
	check_text(&event, "12345678");
}

TEST(decodes_mappings)
{
	struct builder builder = build_mapping(5, "/usr/lib/lib a.so");
	struct sideband_event event = decode(&builder);
	ck_assert_int_eq(event.kind, SIDEBAND_MAPPING);
	ck_assert_uint_eq(event.pid, 100);
	ck_assert_uint_eq(event.start, 0x7f0000001000);
	ck_assert_uint_eq(event.size, 0x2000);
	ck_assert_uint_eq(event.file_offset, 0x5000);
	ck_assert_uint_eq(event.device_major, 254);
	ck_assert_uint_eq(event.device_minor, 1);
	ck_assert_uint_eq(event.inode, 4711);
	ck_assert_uint_eq(event.inode_generation, 42);
	ck_assert(event.executable);
	ck_assert_uint_eq(event.time, 12345);
	check_text(&event, "/usr/lib/lib a.so");
	builder = build_mapping(3, "//anon");
	ck_assert(!decode(&builder).executable);
}

#define MISC_MMAP_BUILD_ID (1 << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */

/* What Linux 6.18 writes for a reader that did not ask for build ids, while another one did. */
TEST(numbers_with_the_flag_of_build_ids_are_numbers)
{
	static const struct {
		uint32_t major, minor;
		uint64_t inode, generation;
	} files[] = {
		{ 254, 1, 4711, 42 },                           /* as a size, more than a build id has */
		{ 8, 1, 4711, 0 },                              /* as a build id, one of 8 bytes */
		{ 20, 0xfffff, UINT64_MAX, UINT32_MAX },        /* one of 20 bytes */
		{ 0, 45, 1, 0 },                                /* of an anonymous device, as of tmpfs or btrfs */
		{ 0xfff, 0xfffff, UINT64_C(1) << 63, 0x12345 }, /* the largest device number */
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct builder builder = build_mapping(5, "/bin/a");
		builder.header.misc |= MISC_MMAP_BUILD_ID;
		size_t size = builder.size;
		builder.size = 8 + 8 + 24;
		put32(&builder, files[i].major);
		put32(&builder, files[i].minor);
		put64(&builder, files[i].inode);
		put64(&builder, files[i].generation);
		builder.size = size;
		struct sideband_event event = decode(&builder);
		ck_assert_uint_eq(event.device_major, files[i].major);
		ck_assert_uint_eq(event.device_minor, files[i].minor);
		ck_assert_uint_eq(event.inode, files[i].inode);
		ck_assert_uint_eq(event.inode_generation, files[i].generation);
		check_text(&event, "/bin/a");
	}
}

/* Of each size that linkers write, and what is in the bytes of a size that has no meaning. */
TEST(build_ids_are_no_device_numbers)
{
	static const unsigned char sizes[] = { 8, 16, 20, 254 };
	for (size_t i = 0; i < sizeof sizes; i++) {
		struct builder builder = build_mapping(5, "/bin/a");
		unsigned char *identity = &builder.bytes[8 + 8 + 24];
		builder.header.misc |= MISC_MMAP_BUILD_ID;
		memset(identity, 0, 24);
		identity[0] = sizes[i];
		for (unsigned char k = 0; k < 20 && k < sizes[i]; k++)
			identity[4 + k] = (unsigned char)(0xa0 + k);
		struct sideband_event event = decode(&builder);
		ck_assert_uint_eq(event.device_major, 0);
		ck_assert_uint_eq(event.device_minor, 0);
		ck_assert_uint_eq(event.inode, 0);
		ck_assert_uint_eq(event.inode_generation, 0);
		check_text(&event, "/bin/a");
	}
}

/* One bit more than a number has: then it is a build id, if the flag says that it may be one. */
TEST(numbers_have_so_many_bits)
{
	static const struct {
		uint32_t major, minor;
		uint64_t generation;
	} files[] = { { 0x1000, 1, 1 }, { 1, 0x100000, 1 }, { 1, 1, UINT64_C(1) << 32 } };
	for (size_t i = 0; i < 2 * sizeof files / sizeof *files; i++) {
		bool is_flagged = i % 2;
		struct builder builder = build_mapping(5, "/bin/a");
		size_t size = builder.size;
		builder.header.misc |= is_flagged ? MISC_MMAP_BUILD_ID : 0;
		builder.size = 8 + 8 + 24;
		put32(&builder, files[i / 2].major);
		put32(&builder, files[i / 2].minor);
		put64(&builder, 4711);
		put64(&builder, files[i / 2].generation);
		builder.size = size;
		struct sideband_event event = decode(&builder);
		ck_assert_uint_eq(event.inode, is_flagged ? 0 : 4711);
		ck_assert_uint_eq(event.device_major, is_flagged ? 0 : files[i / 2].major);
		ck_assert_uint_eq(event.device_minor, is_flagged ? 0 : files[i / 2].minor);
		ck_assert_uint_eq(event.inode_generation, is_flagged ? 0 : files[i / 2].generation);
	}
}

/* Each type has a body of its size, with the thread and the time; what is not known has a time only. */
TEST(bodies_are_whole)
{
	static const struct {
		uint32_t type;
		size_t size;
		uint32_t tid; /* 0: it is not of a thread */
		bool has_parent;
	} types[] = { { PERF_RECORD_FORK, 24, 3, true },   { PERF_RECORD_EXIT, 24, 3, true },
		      { PERF_RECORD_COMM, 8, 2, false },   { PERF_RECORD_LOST, 16, 0, false },
		      { PERF_RECORD_MMAP2, 64, 2, false }, { PERF_RECORD_THROTTLE, 0, 0, false } };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (size_t size = 0; size <= 72; size += 8) {
			struct sideband_event event;
			struct builder builder = begin(types[i].type, 0);
			for (uint32_t k = 1; k <= size / 4; k++)
				put32(&builder, k);
			finish(&builder, 999);
			ck_assert_int_eq(sideband_event_decode(builder.bytes, builder.size, &event),
					 size >= types[i].size);
			ck_assert_uint_eq(event.time, 999);
			if (size < types[i].size)
				continue;
			ck_assert_uint_eq(event.tid, types[i].tid);
			ck_assert_uint_eq(event.pid, types[i].tid ? 1 : 0);
			ck_assert_uint_eq(event.parent_pid, types[i].has_parent ? 2 : 0);
			ck_assert_int_eq(event.kind == SIDEBAND_OTHER, types[i].type == PERF_RECORD_THROTTLE);
			/* One that is longer than stated, and one that is shorter. */
			ck_assert(!sideband_event_decode(builder.bytes, builder.size + 8, &event));
			ck_assert(!sideband_event_decode(builder.bytes, builder.size - 8, &event));
		}
	struct sideband_event event;
	ck_assert(!sideband_event_decode("", 0, &event));
}

TEST(refuses_what_is_too_short)
{
	struct builder builder = build_mapping(5, "/bin/a");
	struct perf_event_header *header = &builder.header;
	struct sideband_event event;
	for (size_t size = 0; size < builder.size; size++)
		ck_assert_uint_eq(sideband_event_size(builder.bytes, size), 0);
	const size_t least = 8 + 72 + 24 - 8; /* header, body, trailer */
	for (uint16_t size = 0; size < builder.size; size++) {
		header->size = size;
		size_t known = sideband_event_size(builder.bytes, sizeof builder.bytes);
		ck_assert_uint_eq(known, size >= 32 && size % 8 == 0 ? size : 0);
		if (known)
			ck_assert_int_eq(sideband_event_decode(builder.bytes, known, &event), known >= least);
	}
}

TEST(parses_maps)
{
	char text[] =
		"556acc4bd000-556acc4bf000 r--p 00000000 fe:00 247498                     /usr/bin/head\n"
		"556acc4bf000-556acc4c5000 r-xp 00002000 fe:0a 247498                     /usr/bin/a b (deleted)\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		"no mapping\n"
		"7f0000002000-7f0000003000 r-xs 00000000 00:01 18446744073709551615 /memfd:a\\012b (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
		"7f0000004000-7f00";
	const struct {
		int result;
		uint64_t start, end, offset, inode;
		uint32_t minor;
		bool executable;
		const char *path;
	} expected[] = {
		{ 1, 0x556acc4bd000, 0x556acc4bf000, 0, 247498, 0, false, "/usr/bin/head" },
		{ 1, 0x556acc4bf000, 0x556acc4c5000, 0x2000, 247498, 10, true, "/usr/bin/a b (deleted)" },
		{ 1, 0x7f0000000000, 0x7f0000001000, 0, 0, 0, true, "" },
		{ -EINVAL, 0, 0, 0, 0, 0, false, NULL },
		{ 1, 0x7f0000002000, 0x7f0000003000, 0, UINT64_MAX, 1, true, "/memfd:a\nb (deleted)" },
		{ 1, 0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, true, "[vsyscall]" },
		{ 0, 0, 0, 0, 0, 0, false, NULL },
	};
	char *next = text;
	size_t size = sizeof text - 1;
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct process_mapping mapping;
		ck_assert_int_eq(proc_maps_next(&next, &size, &mapping), expected[i].result);
		if (expected[i].result <= 0)
			continue;
		ck_assert_uint_eq(mapping.start, expected[i].start);
		ck_assert_uint_eq(mapping.end, expected[i].end);
		ck_assert_uint_eq(mapping.file_offset, expected[i].offset);
		ck_assert_uint_eq(mapping.inode, expected[i].inode);
		ck_assert_uint_eq(mapping.device_minor, expected[i].minor);
		ck_assert_int_eq(mapping.executable, expected[i].executable);
		ck_assert_uint_eq(mapping.path_length, strlen(expected[i].path));
		ck_assert_mem_eq(mapping.path, expected[i].path, mapping.path_length);
	}
	ck_assert_uint_eq(size, strlen("7f0000004000-7f00"));
	ck_assert_str_eq(next, "7f0000004000-7f00");
}

/* A line is taken as a whole or not at all. */
TEST(refuses_malformed_maps)
{
	static const char *const wrong[] = {
		"1000.2000 r-xp 00000000 fe:00 7 /a",
		"1000-2000.r-xp 00000000 fe:00 7 /a",
		"1000-2000 r-xp.00000000 fe:00 7 /a",
		"1000-2000 r-xp 00000000.fe:00 7 /a",
		"1000-2000 r-xp 00000000 fe.00 7 /a",
		"1000-2000 r-xp 00000000 fe:00.7 /a",
		"-2000 r-xp 00000000 fe:00 7 /a",
		"1000- r-xp 00000000 fe:00 7 /a",
		"1000-2000 r-xp  fe:00 7 /a",
		"1000-2000 r-xp 00000000 :00 7 /a",
		"1000-2000 r-xp 00000000 fe: 7 /a",
		"1000-2000 r-xp 00000000 fe:00  /a",
		"1000-2000 r-xp 00000000 fe:00 a /a",
		"2000-2000 r-xp 00000000 fe:00 7 /a",
		"2001-2000 r-xp 00000000 fe:00 7 /a",
		"10000000000000000-20000000000000000 r-xp 00000000 fe:00 7 /a",
		"1000-200g r-xp 00000000 fe:00 7 /a",
		"1000-200: r-xp 00000000 fe:00 7 /a",
		"1000-200/ r-xp 00000000 fe:00 7 /a",
		"1000-200` r-xp 00000000 fe:00 7 /a",
		"1000-2000 r-xp 00000000 fe:00 18446744073709551616 /a",
		"1000-2000 r-x",
		"1000-2000 ",
		"",
	};
	static const char *const right[] = { "1000-2000 r-xp 00000000 fe:00 7 /a",
					     "1000-2000 r-xp 0 fe:0 18446744073709551615 /a",
					     "0-ffffffffffffffff r-xp ffffffffffffffff 9a:f0 7 /a",
					     "1fff-2000 r-xp 00000000 fe:00 7 /a" };
	struct process_mapping mapping;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char text[128], *next = text;
		size_t size = (size_t)snprintf(text, sizeof text, "%s\n", wrong[i]);
		ck_assert_msg(proc_maps_next(&next, &size, &mapping) == -EINVAL, "%s", wrong[i]);
		ck_assert_uint_eq(size, 0); /* the next line is read on */
	}
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		char text[128], *next = text;
		size_t size = (size_t)snprintf(text, sizeof text, "%s\n", right[i]);
		ck_assert_msg(proc_maps_next(&next, &size, &mapping) == 1, "%s", right[i]);
		ck_assert_uint_eq(mapping.path_length, 2);
		ck_assert(mapping.executable);
	}
	ck_assert_uint_eq(mapping.device_major, 0xfe);
}

/* Newlines of a path are written as \012; other numbers, and what is cut off, are as they are. */
TEST(decodes_newlines_of_paths)
{
	static const struct {
		const char *text, *path;
	} paths[] = {
		{ "/a\\012", "/a\n" },           { "/\\012\\012b", "/\n\nb" }, { "/a\\01", "/a\\01" },
		{ "/a\\012b\\01", "/a\nb\\01" }, { "/a\\011b", "/a\\011b" },   { "/a\\012b\\013", "/a\nb\\013" }
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct process_mapping mapping;
		char text[128], *next = text;
		size_t size = (size_t)snprintf(text, sizeof text, "1000-2000 rw-p 0 0:0 7      %s\n", paths[i].text);
		ck_assert_int_eq(proc_maps_next(&next, &size, &mapping), 1);
		ck_assert_uint_eq(mapping.path_length, strlen(paths[i].path));
		ck_assert_mem_eq(mapping.path, paths[i].path, mapping.path_length);
		ck_assert(!mapping.executable);
	}
}

TEST(refuses_malformed_status)
{
	static const char *const wrong[] = {
		"12 a) S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 )a( S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a).S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a) S.7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a) S x 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a) S 7.12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a) S 7 12 12 0 -1 x 1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a) S 7 12 12 0 -1 4194560.1 2 3 4 5 6 7 8 20 0 33 0 1234",
		"12 (a) S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 x 0 1234",
	};
	struct proc_status status;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(proc_status_parse(wrong[i], strlen(wrong[i]), &status) == -EINVAL, "%s", wrong[i]);
	ck_assert_int_eq(proc_status_parse("1 () R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 2", 44, &status), 0);
	ck_assert_uint_eq(status.name_length, 0);
	ck_assert_uint_eq(status.threads, 1);
	ck_assert_uint_eq(status.start_ticks, 2);
}

TEST(parses_status)
{
	const char text[] = "12 (a) (b\n) S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 1234 5 6";
	struct proc_status status;
	ck_assert_int_eq(proc_status_parse(text, strlen(text), &status), 0);
	ck_assert_uint_eq(status.name_length, strlen("a) (b\n"));
	ck_assert_mem_eq(status.name, "a) (b\n", status.name_length);
	ck_assert_int_eq(status.state, 'S');
	ck_assert_uint_eq(status.parent_pid, 7);
	ck_assert_uint_eq(status.flags, 4194560);
	ck_assert_uint_eq(status.threads, 33);
	for (size_t size = 0; size < (size_t)(strstr(text, "33") - text); size++)
		ck_assert_int_eq(proc_status_parse(text, size, &status), -EINVAL);
}

static int cpu_note(void *context, uint32_t cpu)
{
	*(uint64_t *)context |= UINT64_C(1) << cpu;
	return cpu == 63 ? -EBUSY : 0;
}

TEST(parses_cpu_lists)
{
	const struct {
		const char *text;
		int result;
		uint64_t cpus;
	} expected[] = {
		{ "0\n", 0, 1 },
		{ "0-3,8\n", 0, 0x10f },
		{ "2,4-5", 0, 0x34 },
		{ "", -EBADMSG, 0 },
		{ "3-1", -EBADMSG, 0 },
		{ "1,", -EBADMSG, 2 },
		{ "62-70", -EBUSY, 3ULL << 62 },
		{ "x", -EBADMSG, 0 },
		{ "70000", -EBADMSG, 0 },
		{ "5-5", 0, 0x20 },
		{ "1-", -EBADMSG, 0 },
		{ "1;2", -EBADMSG, 0 },
		{ "0-65536", -EBADMSG, 0 },
		{ "18446744073709551617", -EBADMSG, 0 },
	};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		uint64_t cpus = 0;
		ck_assert_int_eq(proc_cpu_list(expected[i].text, strlen(expected[i].text), cpu_note, &cpus),
				 expected[i].result);
		ck_assert_uint_eq(cpus, expected[i].cpus);
	}
}

static int cpu_note_last(void *context, uint32_t cpu)
{
	*(uint32_t *)context = cpu;
	return 0;
}

TEST(cpus_have_a_greatest_number)
{
	uint32_t last = 0;
	ck_assert_int_eq(proc_cpu_list("65535", 5, cpu_note_last, &last), 0);
	ck_assert_uint_eq(last, 65535);
	ck_assert_int_eq(proc_cpu_list("65536", 5, cpu_note_last, &last), -EBADMSG);
	ck_assert_uint_eq(last, 65535);
}

/* The last path that was interned, and the last mapping. */
struct seen {
	char path[256];
	struct iaprof_record_mapping mapping;
	size_t records;
};

static uint32_t seen_intern(void *context, const char *text, size_t length)
{
	struct seen *seen = context;
	memcpy(seen->path, text, length);
	seen->path[length] = 0;
	return 1;
}

static int seen_emit(void *context, const struct iaprof_batch *batch)
{
	struct seen *seen = context;
	const struct iaprof_record *record = NULL;
	while ((record = iaprof_batch_next(batch, record)))
		seen->records++;
	memcpy(&seen->mapping, batch->records, sizeof seen->mapping);
	return 0;
}

TEST(writes_paths_in_one_form)
{
	const struct {
		const char *given, *path;
		uint64_t file_offset;
		uint32_t flags;
	} expected[] = {
		{ "", "//anon", 0, 0 },
		{ "//anon", "//anon", 0, 0 },
		{ "[anon:v8]", "//anon", 0, 0 },
		{ "[vdso]", "[vdso]", 0, 0 },
		{ "/a (deleted)", "/a", 0x1000, IAPROF_MAPPING_DELETED },
		{ "/memfd:jit (deleted)", "/memfd:jit", 0x1000, IAPROF_MAPPING_DELETED },
		{ "/a b\nc", "/a b\nc", 0x1000, 0 },
		{ " (deleted)", " (deleted)", 0, 0 },
	};
	struct seen seen = { .records = 0 };
	struct sideband_writer *writer = calloc(1, sizeof *writer);
	ck_assert_ptr_nonnull(writer);
	writer->output = (struct sideband_output){ .context = &seen, .intern = seen_intern, .emit = seen_emit };
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct sideband_event event = { .text = expected[i].given,
						.text_length = strlen(expected[i].given),
						.file_offset = 0x1000 };
		sideband_write_mapping(writer, &event, 0);
		ck_assert_int_eq(sideband_write_flush(writer), 0);
		ck_assert_str_eq(seen.path, expected[i].path);
		ck_assert_uint_eq(seen.mapping.flags, expected[i].flags);
		ck_assert_uint_eq(seen.mapping.file_offset, expected[i].file_offset);
	}
	/* More than fits a batch. */
	seen.records = 0;
	for (uint32_t i = 0; i < 10000; i++)
		sideband_write_process(writer, i, IAPROF_PROCESS_FORK, i, 1, NULL, 0);
	ck_assert_int_eq(sideband_write_flush(writer), 0);
	ck_assert_uint_eq(seen.records, 10000);
	free(writer);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
