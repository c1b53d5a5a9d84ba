/* SPDX-License-Identifier: Apache-2.0 */
/* Images of device code: which ones ze-usdt accepts, the records that it sends, and how it handles malicious ones. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live_source.h"
#include "test_host.h"
#include "ze_fire.h"
#include "../run_suite.h"

static char folder[] = "/tmp/iaprof-test-XXXXXX";

static void folder_make(void)
{
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void folder_remove(void)
{
	char command[256];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Runs a shell command in the folder; $1 is the image of the test data. */
static void shell(const char *command)
{
	char line[8192];
	snprintf(line, sizeof line, "cd '%s' && set -- '%s' && %s", folder, getenv("TEST_ZE_IMAGE"), command);
	ck_assert_msg(system(line) == 0, "%s", command);
}

static struct test_host *host_start(const char *option)
{
	struct test_host *host = test_host_new("ze-usdt", "tracer=no", option, NULL);
	ck_assert_int_eq(test_host_set(host, "library", ze_fire_library('1')), 0);
	test_host_start(host);
	return host;
}

static const void *record_find(struct test_host *host, uint16_t type, unsigned number)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, type)))
		if (number-- == 0)
			return record;
	return NULL;
}

static unsigned warnings(const struct test_host *host)
{
	unsigned count = 0;
	for (size_t i = 0; i < host->messages.count; i++)
		count += host->messages.items[i].level <= IAPROF_LOG_WARNING;
	return count;
}

/* How many code objects were refused so far: counted after the reason is reported. */
static uint64_t refused(struct test_host *host)
{
	test_host_freeze(host);
	uint64_t count = test_host_lost(host, "code object could not be read");
	test_host_thaw(host);
	return count;
}

/* The range of the sections with code, from readelf. */
static void range_read(const char *path, uint64_t *first, uint64_t *end)
{
	char command[4352], line[512];
	snprintf(command, sizeof command, "readelf -WS '%s'", path);
	FILE *lines = popen(command, "r");
	ck_assert_ptr_nonnull(lines);
	*first = UINT64_MAX;
	*end = 0;
	while (fgets(line, sizeof line, lines)) {
		uint64_t address, offset, size;
		char flags[16];
		const char *type = strstr(line, "PROGBITS");
		if (!type ||
		    sscanf(type, "PROGBITS %" SCNx64 " %" SCNx64 " %" SCNx64 " %*x %15s", &address, &offset, &size,
			   flags) != 4 ||
		    !strchr(flags, 'X'))
			continue;
		address &= 0xffffffffffff;
		*first = address < *first ? address : *first;
		*end = address + size > *end ? address + size : *end;
	}
	ck_assert_int_eq(pclose(lines), 0);
}

static void images_compare(const char *left, const char *right)
{
	char command[8192];
	snprintf(command, sizeof command, "cmp '%s' /proc/%d/fd/%s", left, getpid(), strrchr(right, '/') + 1);
	ck_assert_int_eq(system(command), 0);
}

TEST(code_objects_kernels_launches_in_order)
{
	folder_make();
	shell("cp \"$1\" iaprof-ze-0123456789abcdef.elf; chmod 600 *; cp \"$1\" runtimes_own.elf; cp \"$1\" third");
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(NULL);

	ze_fire_do(&fire, "compile %s/iaprof-ze-0123456789abcdef.elf 5", folder);
	ze_fire_do(&fire, "launch a 3 800000001000 64 one 5 0");
	ze_fire_do(&fire, "unload 5");
	ze_fire_do(&fire, "compile %s/runtimes_own.elf", folder);
	ze_fire_do(&fire, "launch a 4 800000001000 64 one");
	test_host_run(host, 300);
	test_host_freeze(host);
	const struct iaprof_record_code_object *object = record_find(host, IAPROF_RECORD_CODE_OBJECT, 0);
	const struct iaprof_record_code_object *other = record_find(host, IAPROF_RECORD_CODE_OBJECT, 1);
	ck_assert(object && other);
	images_compare(getenv("TEST_ZE_IMAGE"), test_host_string(host, object->path));
	test_host_thaw(host);
	test_host_stop(host);

	const struct iaprof_record_kernel *kernel = record_find(host, IAPROF_RECORD_KERNEL, 0);
	const struct iaprof_record_launch *launch = record_find(host, IAPROF_RECORD_LAUNCH, 0);
	const struct iaprof_record_code_object_unload *unload = record_find(host, IAPROF_RECORD_CODE_OBJECT_UNLOAD, 0);
	object = record_find(host, IAPROF_RECORD_CODE_OBJECT, 0);
	other = record_find(host, IAPROF_RECORD_CODE_OBJECT, 1);
	ck_assert(kernel && launch && unload && object && other);
	if (kernel->code_object != object->id)
		kernel = record_find(host, IAPROF_RECORD_KERNEL, 1);
	if (launch->kernel != kernel->id)
		launch = record_find(host, IAPROF_RECORD_LAUNCH, 1);
	ck_assert_uint_eq(object->machine, 205);
	ck_assert_uint_eq(object->pid, (uint32_t)fire.pid);
	ck_assert_uint_eq(kernel->code_object, object->id);
	ck_assert_uint_eq(launch->kernel, kernel->id);
	ck_assert_uint_eq(launch->count, 3);
	ck_assert_uint_eq(unload->id, object->id);
	/* In the order in which they have to be understood, and with the times of the program. */
	ck_assert((const char *)object < (const char *)kernel && (const char *)kernel < (const char *)launch &&
		  (const char *)launch < (const char *)unload);
	ck_assert(object->header.time < launch->first_time && launch->header.time < unload->header.time &&
		  unload->header.time < other->header.time);
	uint64_t first, end;
	range_read(getenv("TEST_ZE_IMAGE"), &first, &end);
	ck_assert_uint_eq(object->address, first);
	ck_assert_uint_eq(object->size, end - first);
	/* Identical images share one file; the tracer's own is marked as taken and then removed, others are left alone.
	 */
	ck_assert_uint_eq(object->path, other->path);
	char tracers[256], runtimes[256];
	struct stat status;
	snprintf(tracers, sizeof tracers, "%s/iaprof-ze-0123456789abcdef.elf", folder);
	snprintf(runtimes, sizeof runtimes, "%s/runtimes_own.elf", folder);
	ck_assert(stat(tracers, &status) == 0 && (status.st_mode & 07777) == 0400);
	ck_assert(stat(runtimes, &status) == 0 && (status.st_mode & S_IWUSR));
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	ck_assert_uint_eq(warnings(host), 0);
	test_host_free(host);
	ck_assert_int_ne(access(tracers, F_OK), 0);
	ck_assert_int_eq(access(runtimes, F_OK), 0);
	ze_fire_stop(&fire);
	folder_remove();
}

struct bad_image {
	const char *make;   /* in the folder */
	const char *name;   /* of the file; with a '-' the whole argument */
	const char *reason; /* part of the message */
};

static void refused_check(const struct bad_image *images, unsigned count)
{
	folder_make();
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(NULL);

	for (unsigned i = 0; i < count; i++) {
		shell(images[i].make);
		ze_fire_do(&fire, "compile %s/%s %u", folder, images[i].name, i + 1);
		/* Not before what was made is looked at. */
		for (int turns = 0; turns < 400 && refused(host) <= i; turns++)
			test_host_run(host, 50);
		test_host_freeze(host);
		ck_assert_msg(test_host_logged(host, IAPROF_LOG_WARNING, images[i].reason), "no '%s' of %s",
			      images[i].reason, images[i].name);
		ck_assert_uint_eq(warnings(host), i + 1);
		test_host_thaw(host);
	}
	/* The run goes on. */
	shell("cp \"$1\" good.elf");
	ze_fire_do(&fire, "compile %s/good.elf 100", folder);
	test_host_stop(host);
	ck_assert_uint_eq(test_host_lost(host, "code object could not be read"), count);
	ck_assert_uint_eq(test_host_lost(host, NULL), count);
	ck_assert_ptr_nonnull(record_find(host, IAPROF_RECORD_CODE_OBJECT, 0));
	ck_assert_ptr_null(record_find(host, IAPROF_RECORD_CODE_OBJECT, 1));
	test_host_free(host);
	ze_fire_stop(&fire);
	folder_remove();
}

TEST(what_is_no_plain_file_is_refused)
{
	static const struct bad_image images[] = {
		{ "mkdir folder", "folder", "it is a folder" },
		{ "mkfifo fifo", "fifo", "it is no regular file" },
		{ "cp \"$1\" real; ln -s real link", "link", "symbolic link" },
		{ "mkdir d; cp \"$1\" d/image; ln -s d way", "way/image", "symbolic link" },
		{ "true", "removed", "No such file" },
	};
	refused_check(images, 5);
}

TEST(files_of_others_are_refused)
{
	static const struct bad_image images[] = {
		{ "cp \"$1\" foreign; chown 65534 foreign", "foreign", "another user" },
		{ "cp \"$1\" open; chmod 666 open", "open", "others can write it" },
		{ "ln -s /etc/shadow iaprof-ze-0123456789abcdef.elf", "iaprof-ze-0123456789abcdef.elf",
		  "symbolic link" },
		{ "true", "../../../../../../etc", "it is a folder" },
	};
	refused_check(images, 4);
}

TEST(what_is_no_image_is_refused)
{
	static const struct bad_image images[] = {
		{ ": >empty", "empty", "it is empty" },
		{ "truncate -s 300M large", "large", "larger than 256 MiB" },
		{ "head -c 1000 \"$1\" >cut", "cut", "no ELF file, or damaged" },
		{ "echo text >text", "text", "no ELF file, or damaged" },
		{ "head -c 65535 /dev/zero >zeros", "zeros", "no ELF file, or damaged" },
	};
	refused_check(images, 5);
}

/* A program that announces without end gets few lines, and all of it is counted. */
TEST(messages_are_bounded)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(NULL);

	for (unsigned i = 0; i < 200; i++)
		ze_fire_do(&fire, "compile /nowhere/%u %u", i, i + 1);
	ze_fire_do(&fire, "compile relative/path");
	ze_fire_do(&fire, "compile -unmapped 1");
	ze_fire_do(&fire, "compile /%02000d 1", 0);
	test_host_stop(host);
	ck_assert_uint_eq(test_host_lost(host, NULL), 203);
	ck_assert_uint_le(warnings(host), 6);
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "messages suppressed: 198"));
	test_host_free(host);
	ze_fire_stop(&fire);
}

/* Names that cannot be read, sizes that cannot be, kernels over each other: counted all the same. */
TEST(strange_kernels_are_counted)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(NULL);
	uint64_t count = 0, longest = 0;

	ze_fire_do(&fire, "launch a 1 800000001000 64 -unmapped 1 0");
	ze_fire_do(&fire, "launch a 2 800000001000 64 -endless");
	ze_fire_do(&fire, "launch a 3 800000001000 0 nothing 1 0");
	ze_fire_do(&fire, "launch a 4 800000001020 9223372036854775808 huge 1 0");
	ze_fire_do(&fire, "launch a 5 800000001010 64 overlaps 1 0");
	ze_fire_do(&fire, "launch a 6 ffffffffffffffff 18446744073709551615 last 1 0");
	ze_fire_do(&fire, "launch a 7 0 64 %0800d 2 0", 0);
	test_host_stop(host);
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, IAPROF_RECORD_LAUNCH));)
		count += ((const struct iaprof_record_launch *)record)->count;
	ck_assert_uint_eq(count, 1 + 2 + 3 + 4 + 5 + 6 + 7);
	for (const struct iaprof_record *record = NULL;
	     (record = test_host_next(host, record, IAPROF_RECORD_KERNEL));) {
		const struct iaprof_record_kernel *kernel = (const void *)record;
		size_t length = strlen(test_host_string(host, kernel->name));
		longest = length > longest ? length : longest;
		ck_assert_uint_le(kernel->size, 64);
	}
	ck_assert_uint_eq(longest, 511);
	ck_assert_uint_le(warnings(host), 2);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	test_host_free(host);
	ze_fire_stop(&fire);
}

/* Losses of a map that is too small are counted. */
TEST(a_full_map_is_counted)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start("map-size=256");
	uint64_t count = 0;

	ze_fire_do(&fire, "distinct a 20000 800000001000 64 kernel 1 0");
	test_host_stop(host);
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, IAPROF_RECORD_LAUNCH));)
		count += ((const struct iaprof_record_launch *)record)->count;
	ck_assert_uint_eq(count + test_host_lost(host, "launch map full"), 20000);
	ck_assert_uint_gt(test_host_lost(host, "launch map full"), 0);
	test_host_free(host);
	ze_fire_stop(&fire);
}

int main(void)
{
	if (!ze_fire_program('1')) {
		puts("1..0 # SKIP there is no sys/sdt.h to build the program that fires");
		return 0;
	}
	if (!live_source_can_run_with("ze-usdt", "tracer=yes"))
		return 0;
	return run_all_tests(600, NULL, NULL);
}
