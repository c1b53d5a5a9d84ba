/* SPDX-License-Identifier: Apache-2.0 */
/* Functions made at run time: what is in a perf map, and which maps are believed. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "symbolizer/fixture_tools.h"
#include "symbolizer/jit_dump.h"
#include "symbolizer/perf_map.h"
#include "symbolizer/perf_map_cache.h"
#include "../run_suite.h"

static const char *find(struct perf_map *map, const char *text, uint64_t address)
{
	perf_map_free(map);
	*map = (struct perf_map){ 0 };
	ck_assert_int_ge(perf_map_add(map, text, strlen(text)), 0);
	ck_assert_int_eq(perf_map_index(map), 0);
	uint64_t start = UINT64_MAX;
	const char *name = perf_map_find(map, address, &start);
	ck_assert(!name || start <= address);
	return name;
}

TEST(lines_of_all_shapes)
{
	struct perf_map map = { 0 };
	ck_assert_str_eq(find(&map, "1000 10 one\n", 0x1000), "one");
	ck_assert_str_eq(find(&map, "1000 10 one\n", 0x100f), "one");
	ck_assert_ptr_null(find(&map, "1000 10 one\n", 0x1010));
	ck_assert_ptr_null(find(&map, "1000 10 one\n", 0xfff));
	ck_assert_str_eq(find(&map, "0x1000 0x10 with 0x\n", 0x1000), "with 0x");
	ck_assert_str_eq(find(&map, "ABCD aB capitals\n", 0xabcd), "capitals");
	ck_assert_str_eq(find(&map, "1000 10 LazyCompile:~a b;c /x/y.js:1:2\r\n", 0x1000),
			 "LazyCompile:~a b;c /x/y.js:1:2");
	ck_assert_str_eq(find(&map, "1000 10 \xff\x01\n", 0x1000), "\xff\x01");
	ck_assert_uint_eq(map.skipped, 0);
	/* The last line is still being written. */
	ck_assert_ptr_null(find(&map, "1000 10 on", 0x1000));
	perf_map_free(&map);
}

static const char *const bad_lines[] = {
	"1000\n",
	"1000 10\n",
	"1000 10 \n",
	"xyz 10 name\n",
	"1000 zz name\n",
	" 1000 10 name\n",
	"-1000 10 name\n",
	"10000000000001000 10 name\n",
	"1000 fffffffffffffff0 name\n",
	"0x 10 name\n",
	"1000,10,name\n",
};

TEST_LOOP(bad_lines_are_skipped_and_counted, 0, sizeof bad_lines / sizeof *bad_lines)
{
	struct perf_map map = { 0 };
	char text[256];
	snprintf(text, sizeof text, "2000 10 before\n%s3000 10 after\n", bad_lines[_i]);
	ck_assert_ptr_null(find(&map, text, 0x1000));
	ck_assert_uint_eq(map.skipped, 1);
	ck_assert_str_eq(find(&map, text, 0x2000), "before");
	ck_assert_str_eq(find(&map, text, 0x3000), "after");
	perf_map_free(&map);
}

TEST(later_lines_win)
{
	struct perf_map map = { 0 };
	ck_assert_str_eq(find(&map, "1000 10 old\n1000 10 new\n", 0x1008), "new");
	ck_assert_str_eq(find(&map, "1000 10 old\n1000 8 new\n", 0x1008), "old");
	ck_assert_str_eq(find(&map, "1050 10 old\n1000 100 new\n", 0x1055), "new");
	ck_assert_str_eq(find(&map, "1000 100 old\n1050 10 new\n", 0x1055), "new");
	ck_assert_str_eq(find(&map, "1000 100 old\n1050 10 new\n", 0x1060), "old");
	ck_assert_str_eq(find(&map, "ffffffffffffff00 f0 top\n", 0xffffffffffffff10), "top");
	perf_map_free(&map);
}

/* Against the definition: the last entry of the list that holds the address. */
TEST_LOOP(random_overlaps, 0, 20)
{
	struct {
		uint64_t start, end;
	} entries[200];
	unsigned seed = (unsigned)_i;
	char text[200 * 32] = "";
	for (int i = 0; i < 200; i++) {
		entries[i].start = 1 + (uint64_t)rand_r(&seed) % 1000;
		entries[i].end = entries[i].start + (uint64_t)rand_r(&seed) % 60;
		sprintf(text + strlen(text), "%" PRIx64 " %" PRIx64 " f%d\n", entries[i].start,
			entries[i].end - entries[i].start, i);
	}
	struct perf_map map = { 0 };
	find(&map, text, 0);
	for (uint64_t address = 0; address < 1100; address++) {
		char wanted[16] = "";
		uint64_t wanted_start = 0, start;
		for (int i = 0; i < 200; i++)
			if (entries[i].start <= address && address < entries[i].end) {
				sprintf(wanted, "f%d", i);
				wanted_start = entries[i].start;
			}
		const char *name = perf_map_find(&map, address, &start);
		ck_assert_str_eq(name ? name : "", wanted);
		if (name)
			ck_assert_uint_eq(start, wanted_start);
	}
	perf_map_free(&map);
}

/* Writes a record of loaded code, as Linux's jitdump-specification.txt lays it out; returns its size. */
static size_t put_load(char *to, uint64_t address, uint64_t size, const char *name)
{
	uint32_t words[] = { 0, (uint32_t)(56 + strlen(name) + 1 + size), 0, 0, 7, 7 };
	uint64_t longs[] = { address, address, size, 1 };
	memcpy(to, words, sizeof words);
	memcpy(to + 24, longs, sizeof longs);
	strcpy(to + 56, name);
	memset(to + 56 + strlen(name) + 1, 0x90, size);
	return words[1];
}

static const uint32_t dump_header[10] = { 0x4a695444, 1, 40, 62, 0, 7 };

/* What is found is the same whether the file is read at once or in pieces, of which none ends with a record. */
TEST_LOOP(jitdump_in_pieces, 0, 60)
{
	char dump[1024] = { 0 };
	const uint32_t other[] = { 4, 16, 0, 0 }, moved[] = { 1, 16, 0, 0 };
	memcpy(dump, dump_header, sizeof dump_header);
	size_t size = sizeof dump_header;
	size += put_load(dump + size, 0x1000, 0x10, "one");
	memcpy(dump + size, other, sizeof other);
	memcpy(dump + size + 16, moved, sizeof moved);
	size += 32;
	size += put_load(dump + size, 0x1008, 0x20, "JS:*two a.js:1");
	size += put_load(dump + size, 0x2000, 0, "nothing");
	ck_assert(jit_dump_begins(dump, size));
	ck_assert(!jit_dump_begins(dump, 3));
	struct perf_map map = { 0 };
	long taken = 0;
	for (size_t end = (size_t)_i + 1; taken < (long)size; end += (size_t)_i + 1) {
		end = end < size ? end : size;
		if ((long)end > taken) {
			long more = jit_dump_add(&map, dump + taken, end - (size_t)taken, !taken);
			ck_assert_int_ge(more, 0);
			taken += more;
		}
	}
	ck_assert_int_eq(taken, (long)size);
	ck_assert_int_eq(perf_map_index(&map), 0);
	uint64_t start;
	ck_assert_str_eq(perf_map_find(&map, 0x1007, &start), "one");
	ck_assert_str_eq(perf_map_find(&map, 0x1008, &start), "JS:*two a.js:1");
	ck_assert_uint_eq(start, 0x1008);
	ck_assert_ptr_null(perf_map_find(&map, 0x2000, &start));
	ck_assert_uint_eq(map.entries.count, 2);
	ck_assert_uint_eq(map.skipped, 1);
	perf_map_free(&map);
}

TEST(damaged_jitdumps)
{
	char dump[256] = { 0 };
	struct perf_map map = { 0 };
	memcpy(dump, dump_header, sizeof dump_header);
	size_t size = 40 + put_load(dump + 40, 0x1000, 0x10, "one");
	/* The name does not end within the record. */
	memset(dump + 96, 'x', size - 96);
	ck_assert_int_eq(jit_dump_add(&map, dump, size, true), (long)size);
	ck_assert_uint_eq(map.skipped, 1);
	ck_assert_uint_eq(map.entries.count, 0);
	const uint32_t too_small[] = { 0, 15, 0, 0 };
	memcpy(dump + 40, too_small, sizeof too_small);
	ck_assert_int_eq(jit_dump_add(&map, dump, size, true), -EINVAL);
	const uint32_t without_name[] = { 0, 55, 0, 0 };
	memcpy(dump + 40, without_name, sizeof without_name);
	ck_assert_int_eq(jit_dump_add(&map, dump, 60, true), 95);
	ck_assert_uint_eq(map.skipped, 2);
	const uint32_t headers[][3] = { { 0x4454694a, 1, 40 }, { 0x4a695444, 2, 40 }, { 0x4a695444, 1, 39 } };
	for (size_t i = 0; i < 3; i++) {
		memcpy(dump, headers[i], sizeof headers[i]);
		ck_assert_int_eq(jit_dump_add(&map, dump, size, true), -EINVAL);
	}
	ck_assert(!jit_dump_begins("\x4a\x69\x54\x44", 4));
	perf_map_free(&map);
}

/* A sleeping child with memory that belongs to no file; its map, and the symbolizer that looks at it. */
struct scene {
	pid_t child;
	char path[64];
	struct process process;
	struct mapping mapping;
	struct symbolizer *symbolizer;
};

static struct scene scene_new(void)
{
	struct scene scene = { .child = fork() };
	if (scene.child == 0) {
		pause();
		_exit(0);
	}
	ck_assert_int_gt(scene.child, 0);
	snprintf(scene.path, sizeof scene.path, "/tmp/perf-%d.map", scene.child);
	unlink(scene.path);
	scene.process = (struct process){
		.pid = (uint32_t)scene.child, .serial = 1, .end = UINT64_MAX, .name = "child", .root = -1
	};
	scene.mapping = (struct mapping){ .start = 0x10000, .end = 0x20000, .serial = 1, .path = "//anon" };
	scene.symbolizer = symbolizer_new(&(struct symbolizer_options){ .live = true });
	return scene;
}

static void scene_free(struct scene *scene)
{
	symbolizer_free(scene->symbolizer);
	unlink(scene->path);
	kill(scene->child, SIGKILL);
	waitpid(scene->child, NULL, 0);
}

static void append_text(const char *path, const char *text)
{
	CLEANUP_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
}

static void check_at(struct scene *scene, uint64_t address, const char *name, uint64_t offset)
{
	struct symbol symbol;
	bool known = name[0] != '[';
	ck_assert_uint_eq(
		symbolizer_resolve_user(scene->symbolizer, &scene->process, &scene->mapping, address, &symbol, 1), 1);
	ck_assert_str_eq(symbol.name, name);
	ck_assert_uint_eq(symbol.kind, IAPROF_FRAME_JIT);
	ck_assert_uint_eq(symbol.flags, known ? 0 : IAPROF_FRAME_UNKNOWN);
	ck_assert_uint_eq(symbol.address, address);
	ck_assert_uint_eq(symbol.offset, offset);
	ck_assert_str_eq(symbol.module, "//anon");
}

TEST(a_map_that_grows)
{
	struct scene scene = scene_new();
	check_at(&scene, 0x10000, "[anon]", 0);
	append_text(scene.path, "10000 100 first\n10100 10");
	check_at(&scene, 0x10004, "first", 4);
	check_at(&scene, 0x10100, "[anon]", 0);
	append_text(scene.path, "0 second\n");
	check_at(&scene, 0x10101, "second", 1);
	check_at(&scene, 0x10004, "first", 4);
	/* Rewritten, as runtimes do when they restart. */
	unlink(scene.path);
	append_text(scene.path, "10300 100 third\n");
	check_at(&scene, 0x10300, "third", 0);
	check_at(&scene, 0x10101, "[anon]", 0);
	ck_assert_uint_eq(symbolizer_statistics(scene.symbolizer).images_failed, 0);
	scene_free(&scene);
}

/* The dump that a process has mapped comes before its perf map. */
TEST(a_mapped_jitdump)
{
	struct scene scene = scene_new();
	CLEANUP_FREE char *folder = fixture_folder(), *path = NULL;
	ck_assert_int_gt(asprintf(&path, "%s/jit-1.dump", folder), 0);
	scene.process.jit_dump = path;
	append_text(scene.path, "10000 100 of the map\n");
	check_at(&scene, 0x10004, "of the map", 4);
	char dump[256];
	memcpy(dump, dump_header, sizeof dump_header);
	size_t size = 40 + put_load(dump + 40, 0x10200, 0x10, "dumped");
	CLEANUP_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(write(descriptor, dump, size - 4), (ssize_t)size - 4);
	check_at(&scene, 0x10208, "dumped", 8);
	ck_assert_int_eq(write(descriptor, dump + size - 4, 4), 4);
	size = put_load(dump, 0x10300, 0x10, "later");
	ck_assert_int_eq(write(descriptor, dump, size), (ssize_t)size);
	check_at(&scene, 0x10300, "later", 0);
	ck_assert_uint_eq(symbolizer_statistics(scene.symbolizer).images_failed, 0);
	command_run("rm -r '%s'", folder);
	scene_free(&scene);
}

TEST(a_map_of_an_earlier_process_is_not_believed)
{
	struct scene scene = scene_new();
	append_text(scene.path, "10000 100 stale\n");
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	ck_assert_int_eq(utimensat(AT_FDCWD, scene.path, times, 0), 0);
	check_at(&scene, 0x10000, "[anon]", 0);
	scene_free(&scene);
}

START_TEST(a_map_of_another_user_is_not_believed)
{
	struct scene scene = scene_new();
	append_text(scene.path, "10000 100 foreign\n");
	ck_assert_int_eq(chown(scene.path, 12345, 12345), 0);
	check_at(&scene, 0x10000, "[anon]", 0);
	ck_assert_uint_eq(symbolizer_statistics(scene.symbolizer).images_failed, 1);
	scene_free(&scene);
}
END_TEST

TEST(a_map_that_is_a_link_or_a_fifo_is_not_believed)
{
	struct scene scene = scene_new();
	CLEANUP_FREE char *folder = fixture_folder(), *target = NULL;
	ck_assert_int_gt(asprintf(&target, "%s/map", folder), 0);
	append_text(target, "10000 100 linked\n");
	ck_assert_int_eq(symlink(target, scene.path), 0);
	check_at(&scene, 0x10000, "[anon]", 0);
	ck_assert_int_eq(unlink(scene.path), 0);
	ck_assert_int_eq(mkfifo(scene.path, 0600), 0);
	check_at(&scene, 0x10000, "[anon]", 0);
	command_run("rm -r '%s'", folder);
	scene_free(&scene);
}

TEST(a_replay_reads_no_map)
{
	struct scene scene = scene_new();
	append_text(scene.path, "10000 100 other\n");
	symbolizer_free(scene.symbolizer);
	scene.symbolizer = symbolizer_new(&(struct symbolizer_options){ .live = false });
	check_at(&scene, 0x10000, "[anon]", 0);
	scene_free(&scene);
}

TEST(a_user_with_many_maps_replaces_their_own)
{
	struct perf_map_use uses[] = { { 1, 50 }, { 2, 10 }, { 1, 40 }, { 1, 60 }, { 3, 5 } };
	size_t count = sizeof uses / sizeof *uses;
	ck_assert_uint_eq(perf_map_replaced(uses, count, 1), 2);
	/* Who has fewer takes a place of who has the most. */
	ck_assert_uint_eq(perf_map_replaced(uses, count, 2), 2);
	ck_assert_uint_eq(perf_map_replaced(uses, count, 4), 2);
	/* With as many as the other once their new one counts, users replace their own. */
	ck_assert_uint_eq(perf_map_replaced(uses, 3, 2), 1);
	struct perf_map_use singles[] = { { 1, 50 }, { 2, 10 }, { 3, 40 } };
	ck_assert_uint_eq(perf_map_replaced(singles, 3, 3), 2);
	/* Each has one: the one that was used longest ago. */
	ck_assert_uint_eq(perf_map_replaced(singles, 3, 4), 1);
}

int main(void)
{
	if (geteuid() == 0)
		tcase_add_test(all_tests(), a_map_of_another_user_is_not_believed);
	else
		printf("# a_map_of_another_user_is_not_believed needs root\n");
	return run_all_tests(300, NULL, NULL);
}
