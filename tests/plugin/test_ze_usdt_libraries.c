/* SPDX-License-Identifier: Apache-2.0 */
/* To which files ze-usdt attaches: later ones, those of other users and of other mount namespaces, damaged ones. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live_source.h"
#include "test_host.h"
#include "ze_fire.h"
#include "ze_records.h"
#include "../run_suite.h"

static struct test_host *host_start(void)
{
	struct test_host *host = test_host_new("ze-usdt", "tracer=no", NULL);
	ck_assert_int_eq(test_host_set(host, "library", ze_fire_library('1')), 0);
	test_host_start(host);
	return host;
}

/* A library that is mapped only later, by a program that began after the source. Also the same file twice. */
TEST(libraries_are_found_later)
{
	struct ze_fire first = ze_fire_start('1');
	struct test_host *host = host_start();
	struct ze_fire second = ze_fire_start('2');

	ze_fire_announce(&second, host);
	ze_fire_announce(&second, host);
	ze_fire_announce(&first, host);
	ze_fire_do(&first, "wait");
	ze_fire_do(&second, "wait");
	ze_fire_do(&first, "launch a 3 0x800000001000 64 one 1 0");
	ze_fire_do(&second, "launch b 4 0x800000001000 64 other 1 0");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &first, "one", 'a', 0), 3);
	ck_assert_uint_eq(ze_launches(host, &second, "other", 'b', 0), 4);
	ck_assert_uint_eq(ze_counter(host, "launches"), 7);
	ck_assert_str_eq(test_host_metadata(host, "libraries with probes"), "2");
	test_host_free(host);
	ze_fire_stop(&first);
	ze_fire_stop(&second);
}

static void file_copy(const char *from, const char *to)
{
	char command[8192];
	snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
	ck_assert_int_eq(system(command), 0);
}

/* A file system that only the process can see, with the program, its library and an image in it. */
static void namespace_enter(void *context)
{
	const char *folder = context;
	char path[4096];

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, NULL) != 0)
		_exit(2);
	const char *files[] = { ze_fire_program('2'), ze_fire_library('2'), getenv("TEST_ZE_IMAGE") };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, strrchr(files[i], '/') + 1);
		file_copy(files[i], path);
		chmod(path, 0755);
	}
}

TEST(mount_namespaces_are_entered)
{
	char folder[] = "/tmp/iaprof-test-XXXXXX", path[4096];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/%s", folder, strrchr(ze_fire_program('2'), '/') + 1);
	struct ze_fire fire = ze_fire_start_path(path, namespace_enter, folder);
	ck_assert_int_ne(access(path, F_OK), 0);
	struct test_host *host = host_start();

	ze_fire_announce(&fire, host);
	ze_fire_do(&fire, "wait");
	test_host_run(host, 200); /* the other probes of the file */
	ze_fire_do(&fire, "compile %s/%s 1", folder, strrchr(getenv("TEST_ZE_IMAGE"), '/') + 1);
	ze_fire_do(&fire, "launch a 5 0x800000001000 64 one 1 0");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'a', 0), 5);
	const struct iaprof_record_code_object *object =
		(const void *)test_host_next(host, NULL, IAPROF_RECORD_CODE_OBJECT);
	ck_assert_ptr_nonnull(object);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	test_host_free(host);
	ze_fire_stop(&fire);
	rmdir(folder);
}

/* The program and its library in a folder of another user; *path is the program's. */
static void folder_remove(const char *folder);

/* Both of read-only folders: an overlay without a layer of its own. */
static void overlay_enter(void *context)
{
	const char *folder = context;
	char options[4096], top[4096];
	snprintf(options, sizeof options, "lowerdir=%s/files:%s/empty", folder, folder);
	snprintf(top, sizeof top, "%s/top", folder);
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("overlay", top, "overlay", MS_RDONLY, options) != 0)
		_exit(2);
}

/* As two containers of one image: a launch is counted once, although each has a device of its own. */
TEST(one_file_below_two_overlays_is_one)
{
	char folder[] = "/tmp/iaprof-test-XXXXXX", path[4096];
	if (system("grep -qw overlay /proc/filesystems") != 0) {
		printf("# skipped: no overlay file system\n");
		return;
	}
	ck_assert_ptr_nonnull(mkdtemp(folder));
	const char *folders[] = { "files", "empty", "top" };
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
		ck_assert_int_eq(mkdir(path, 0755), 0);
	}
	const char *files[] = { ze_fire_program('2'), ze_fire_library('2') };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		snprintf(path, sizeof path, "%s/files/%s", folder, strrchr(files[i], '/') + 1);
		file_copy(files[i], path);
		chmod(path, 0755);
	}
	snprintf(path, sizeof path, "%s/top/%s", folder, strrchr(ze_fire_program('2'), '/') + 1);
	struct ze_fire fires[2];
	for (size_t i = 0; i < 2; i++)
		fires[i] = ze_fire_start_path(path, overlay_enter, folder);
	struct test_host *host = host_start();
	for (size_t i = 0; i < 2; i++)
		ze_fire_announce(&fires[i], host);
	ze_fire_do(&fires[0], "wait");
	test_host_run(host, 1000); /* the other probes, and time for another file */
	for (size_t i = 0; i < 2; i++)
		ze_fire_do(&fires[i], "launch a 5 0x800000001000 64 one 1 0");
	test_host_stop(host);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(ze_launches(host, &fires[i], "one", 'a', 0), 5);
		ze_fire_stop(&fires[i]);
	}
	test_host_free(host);
	folder_remove(folder);
}

static void others_folder_make(char *folder, char *path, size_t size)
{
	char command[8192];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(command, sizeof command, "cp '%s' '%s' '%s' && chmod 755 '%s' && chown -R 65534 '%s'",
		 ze_fire_program('2'), ze_fire_library('2'), folder, folder, folder);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, size, "%s/%s", folder, strrchr(ze_fire_program('2'), '/') + 1);
}

static void folder_remove(const char *folder)
{
	char command[256];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static bool is_logged(struct test_host *host, const char *text)
{
	test_host_freeze(host);
	bool found = test_host_logged(host, IAPROF_LOG_WARNING, text);
	test_host_thaw(host);
	return found;
}

/* The source has read the files that were reported to it. */
static void looked_wait(struct test_host *host, const char *text)
{
	for (int turns = 0; turns < 400 && !is_logged(host, text); turns++)
		test_host_run(host, 50);
	ck_assert_msg(is_logged(host, text), "no message: %s", text);
}

/* What its owner could change meanwhile is attached to as long as nobody has it open for writing. */
TEST(files_of_others_are_held)
{
	char folder[] = "/tmp/iaprof-test-XXXXXX", path[4096], library[8192];
	others_folder_make(folder, path, sizeof path);
	snprintf(library, sizeof library, "%s/%s", folder, strrchr(ze_fire_library('2'), '/') + 1);
	struct ze_fire fire = ze_fire_start_path(path, NULL, NULL);
	struct test_host *host = host_start();

	int writer = open(library, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(writer, 0);
	ze_fire_announce(&fire, host);
	looked_wait(host, "open for writing");
	close(writer);
	ze_fire_announce(&fire, host);
	ze_fire_do(&fire, "wait");
	/* Waits until all its probes are attached to, and not longer. */
	writer = open(library, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(writer, 0);
	close(writer);
	ze_fire_do(&fire, "launch a 9 800000001000 64 one 1 0");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'a', 0), 9);
	test_host_free(host);
	ze_fire_stop(&fire);
	folder_remove(folder);
}

/* A description of arguments that means nothing: one line, and other files are attached to as before. */
TEST(damaged_libraries_are_refused)
{
	char folder[] = "/tmp/iaprof-test-XXXXXX", path[4096], command[8192];
	others_folder_make(folder, path, sizeof path);
	snprintf(command, sizeof command, "sed -i 's/8@-/9@-/g; s/8@%%r/9@%%z/g' '%s/%s'", folder,
		 strrchr(ze_fire_library('2'), '/') + 1);
	ck_assert_int_eq(system(command), 0);
	struct ze_fire fire = ze_fire_start_path(path, NULL, NULL), good = ze_fire_start('1');
	struct test_host *host = host_start();

	ze_fire_announce(&fire, host);
	looked_wait(host, "attach to the probes of");
	ze_fire_do(&good, "launch a 9 800000001000 64 one 1 0");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &good, "one", 'a', 0), 9);
	test_host_free(host);
	ze_fire_stop(&fire);
	ze_fire_stop(&good);
	folder_remove(folder);
}

TEST(command_is_preloaded)
{
	struct test_host *host = test_host_new("ze-usdt", "tracer=yes", NULL);
	host->target.scope = IAPROF_SCOPE_COMMAND;
	host->target.command_pid = (uint32_t)getpid();
	if (access(getenv("TEST_ZE_TRACER"), F_OK) == 0) {
		test_host_start(host);
		ck_assert_uint_eq(host->environment.count, 1);
		char wanted[4096];
		snprintf(wanted, sizeof wanted, "LD_PRELOAD=%s", getenv("TEST_ZE_TRACER"));
		ck_assert_str_eq(host->environment.items[0], wanted);
		test_host_stop(host);
		/* A command without records: the reason has to be reported to the user. */
		ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "no GPU code was loaded"));
	} else {
		ck_assert_int_eq(test_host_configure(host), 0);
		ck_assert_int_lt(test_host_prepare(host), 0);
		ck_assert_ptr_nonnull(strstr(host->failure, "tracer=no"));
	}
	test_host_free(host);
}

/* Why nothing was seen: the program has no runtime, an old loader (perhaps), or could not create its modules. */
TEST_LOOP(nothing_seen_has_its_reason, 0, 3)
{
	static const char *const reasons[] = { "loaded neither libze_loader.so nor libigdrcl.so", "older than 1.15.8",
					       "failed calls of zeModuleCreate or clBuildProgram: 2" };
	if (access(getenv("TEST_ZE_TRACER"), F_OK) != 0)
		return;
	struct ze_fire fire = ze_fire_start('1');
	char library[4096];
	snprintf(library, sizeof library, "library=%s", ze_fire_library('1'));
	struct test_host *host = test_host_new("ze-usdt", "tracer=yes", library, NULL);
	host->target.scope = IAPROF_SCOPE_COMMAND;
	host->target.command_pid = (uint32_t)fire.pid;
	test_host_start(host);
	struct iaprof_mapped_file loader = { .size = sizeof loader,
					     .pid = (uint32_t)fire.pid,
					     .path = "/usr/lib/libze_loader.so.1.32.0" };
	if (_i > 0)
		ck_assert_int_eq(host->on_mapped_file(&host->host, host->instance, &loader), 0);
	for (int i = 0; i < 2 && _i == 2; i++)
		ze_fire_do(&fire, "unload 0");
	test_host_stop(host);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(test_host_logged(host, IAPROF_LOG_WARNING, reasons[i]), i == _i);
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "no GPU code was loaded"));
	test_host_free(host);
	ze_fire_stop(&fire);
}

/* An OpenCL program does not indicate the age of a Level Zero loader, even if it has one as well. */
TEST(opencl_is_no_old_loader)
{
	if (access(getenv("TEST_ZE_TRACER"), F_OK) != 0)
		return;
	struct test_host *host = test_host_new("ze-usdt", "tracer=yes", NULL);
	host->target.scope = IAPROF_SCOPE_COMMAND;
	host->target.command_pid = (uint32_t)getpid();
	test_host_start(host);
	struct iaprof_mapped_file file = { .size = sizeof file, .pid = (uint32_t)getpid() };
	file.path = "/usr/lib/libze_loader.so.1.32.0";
	ck_assert_int_eq(host->on_mapped_file(&host->host, host->instance, &file), 0);
	file.path = "/usr/lib/intel-opencl/libigdrcl.so";
	ck_assert_int_eq(host->on_mapped_file(&host->host, host->instance, &file), 0);
	test_host_stop(host);
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "no GPU code was loaded"));
	ck_assert(!test_host_logged(host, IAPROF_LOG_WARNING, "loader"));
	test_host_free(host);
}

TEST(library_without_probes_is_refused)
{
	struct test_host *host = test_host_new("ze-usdt", "tracer=no", "library=/proc/self/exe", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_int_lt(test_host_prepare(host), 0);
	ck_assert_msg(strstr(host->failure, "no probes of provider level_zero"), "%s", host->failure);
	test_host_free(host);
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
