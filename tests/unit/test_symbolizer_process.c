/* SPDX-License-Identifier: Apache-2.0 */
/* Files of running processes: the vDSO, files that are deleted or replaced while mapped, other mount namespaces. */
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

/* An executable mapping of a running process, from /proc/PID/maps, as iaprof's own look finds it. */
static bool find_mapping(pid_t pid, const char *wanted, struct mapping *mapping, char *path)
{
	char name[64], line[4096 + 256];
	snprintf(name, sizeof name, "/proc/%d/maps", pid);
	CLEANUP_FCLOSE FILE *maps = fopen(name, "re");
	while (maps && fgets(line, sizeof line, maps)) {
		char permissions[8];
		*mapping = (struct mapping){ .serial = 1, .path = path };
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]",
			   &mapping->start, &mapping->end, permissions, &mapping->file_offset, &mapping->device_major,
			   &mapping->device_minor, &mapping->inode, path) != 8 ||
		    !strchr(permissions, 'x') || !strstr(path, wanted))
			continue;
		char *deleted = strstr(path, " (deleted)");
		if (deleted) {
			*deleted = '\0';
			mapping->flags |= IAPROF_MAPPING_DELETED;
		}
		return true;
	}
	return false;
}

static struct process running(pid_t pid)
{
	return (struct process){ .pid = (uint32_t)pid, .serial = 1, .end = UINT64_MAX, .name = "test", .root = -1 };
}

static struct symbolizer *open_live(void)
{
	return symbolizer_new(&(struct symbolizer_options){ .live = true, .debug_path = "/nonexistent" });
}

TEST(functions_of_the_vdso)
{
	char path[4096];
	struct mapping mapping;
	if (!getauxval(AT_SYSINFO_EHDR))
		return;
	ck_assert(find_mapping(getpid(), "[vdso]", &mapping, path));
	/* Where the loader finds it, independently of our reader. */
	void *library = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	void *function = dlsym(library, "__vdso_clock_gettime");
	ck_assert_ptr_nonnull(function);
	struct process process = running(getpid());
	struct symbol symbol;
	struct symbolizer *symbolizer = open_live();
	symbolizer_resolve_user(symbolizer, &process, &mapping, (uint64_t)(uintptr_t)function + 1, &symbol, 1);
	ck_assert_msg(strstr(symbol.name, "clock_gettime"), "%s", symbol.name);
	ck_assert_str_eq(symbol.module, "[vdso]");
	ck_assert_uint_eq(symbol.offset, 1);
	symbolizer_free(symbolizer);

	/* A replay may be of another kernel, and a 32-bit program has another vDSO. */
	symbolizer = symbolizer_new(&(struct symbolizer_options){ .live = false });
	symbolizer_resolve_user(symbolizer, &process, &mapping, (uint64_t)(uintptr_t)function, &symbol, 1);
	char wanted[64];
	snprintf(wanted, sizeof wanted, "[vdso+0x%" PRIx64 "]", (uint64_t)(uintptr_t)function - mapping.start);
	ck_assert_str_eq(symbol.name, wanted);
	symbolizer_free(symbolizer);
	mapping.end += 4096;
	symbolizer = open_live();
	symbolizer_resolve_user(symbolizer, &process, &mapping, (uint64_t)(uintptr_t)function, &symbol, 1);
	ck_assert_str_eq(symbol.name, wanted);
	symbolizer_free(symbolizer);
}

/* A child that has the fixture mapped from a path, and where "outer" is in it. */
struct scene {
	pid_t child;
	struct mapping mapping;
	char path[4096];
	uint64_t outer;
	uint64_t after; /* CLOCK_MONOTONIC: the mapping is there */
};

/* What the child does first; says 1 to the parent when it cannot. */
typedef int setup_function(const char *folder);

static bool scene_new(struct scene *scene, setup_function *setup, const char *folder, const char *library)
{
	int ready[2];
	char answer = 1;
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	scene->child = fork();
	ck_assert_int_ge(scene->child, 0);
	if (scene->child == 0) {
		answer = (char)(setup && setup(folder));
		void *handle = answer ? NULL : dlopen(library, RTLD_NOW);
		if (!answer && !handle)
			answer = 2;
		if (write(ready[1], &answer, 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &answer, 1), 1);
	close(ready[0]);
	ck_assert_int_ne(answer, 2);
	if (answer)
		return false;
	scene->after = clock_monotonic();
	ck_assert(find_mapping(scene->child, "/lib.so", &scene->mapping, scene->path));
	CLEANUP_FREE char *original = fixture_path("libfixture_c.so");
	fixture_symbol_array symbols = fixture_symbols("-n", original);
	for (size_t i = 0; i < symbols.count; i++)
		if (strcmp(symbols.items[i].name, "outer") == 0)
			scene->outer = fixture_address(original, symbols.items[i].address) - FIXTURE_START -
				       scene->mapping.file_offset + scene->mapping.start;
	fixture_symbols_free(&symbols);
	ck_assert_uint_ne(scene->outer, 0);
	return true;
}

static void scene_free(struct scene *scene)
{
	kill(scene->child, SIGKILL);
	waitpid(scene->child, NULL, 0);
}

static void check_outer(const struct scene *scene, const struct process *process, const char *name)
{
	struct symbolizer *symbolizer = open_live();
	struct symbol symbol;
	symbolizer_resolve_user(symbolizer, process, &scene->mapping, scene->outer, &symbol, 1);
	ck_assert_str_eq(symbol.name, name);
	symbolizer_free(symbolizer);
}

/* Copies a fixture to lib.so in the folder; the caller frees the path. */
static char *install(const char *folder, const char *fixture)
{
	CLEANUP_FREE char *source = fixture_path(fixture);
	char *path = NULL;
	ck_assert_int_gt(asprintf(&path, "%s/lib.so", folder), 0);
	command_run("cp '%s' '%s'", source, path);
	return path;
}

static bool can_follow_map_files(void)
{
	char path[4096], name[4096];
	struct mapping mapping;
	struct stat status;
	ck_assert(find_mapping(getpid(), "/", &mapping, path));
	snprintf(name, sizeof name, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, mapping.start, mapping.end);
	return stat(name, &status) == 0;
}

/* 0: by inode, 1: by build id. */
TEST_LOOP(a_deleted_file_is_read_through_the_process, 0, 2)
{
	CLEANUP_FREE char *folder = fixture_folder();
	CLEANUP_FREE char *library = install(folder, "libfixture_c.so");
	struct scene scene;
	ck_assert(scene_new(&scene, NULL, folder, library));
	if (_i)
		fixture_mapping_use_build_id(&scene.mapping, library);
	struct process process = running(scene.child), ended = running(scene.child);
	ended.end = scene.after;
	check_outer(&scene, &process, "outer");

	ck_assert_int_eq(unlink(library), 0);
	check_outer(&scene, &process, can_follow_map_files() ? "outer" : "[deleted]");
	check_outer(&scene, &ended, "[deleted]");

	/* Another file takes the name, and on many file systems the inode number too. */
	scene.mapping.begin = scene.after;
	command_run("sleep 0.05");
	free(library);
	library = install(folder, "libfixture_cpp.so");
	check_outer(&scene, &ended, "[deleted]");
	check_outer(&scene, &process, can_follow_map_files() ? "outer" : "[deleted]");
	scene_free(&scene);
	check_outer(&scene, &process, "[deleted]");
	command_run("rm -r '%s'", folder);
}

TEST(a_file_that_is_newer_than_the_mapping_gives_no_name)
{
	CLEANUP_FREE char *folder = fixture_folder();
	CLEANUP_FREE char *library = install(folder, "libfixture_c.so");
	struct scene scene;
	ck_assert(scene_new(&scene, NULL, folder, library));
	struct process ended = running(scene.child);
	ended.end = scene.after;
	scene.mapping.begin = scene.after;
	check_outer(&scene, &ended, "outer");
	/* The same inode with another content. */
	command_run("sleep 0.05; cat '%s' > '%s/copy'; cat '%s/copy' > '%s'", library, folder, folder, library);
	check_outer(&scene, &ended, "[deleted]");
	scene_free(&scene);
	command_run("rm -r '%s'", folder);
}

/* As a sandbox does: the files are mapped before the root changes. */
TEST(a_file_that_was_mapped_before_the_root_changed)
{
	CLEANUP_FREE char *folder = fixture_folder();
	CLEANUP_FREE char *library = install(folder, "libfixture_c.so");
	CLEANUP_FREE char *empty = fixture_folder();
	CLEANUP_CLOSE int root = open(empty, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct scene scene;
	ck_assert(scene_new(&scene, NULL, folder, library));
	struct process ended = running(scene.child);
	ended.end = scene.after;
	ended.root = root;
	check_outer(&scene, &ended, "[deleted]");
	ended.is_chrooted = true;
	check_outer(&scene, &ended, "outer");
	/* The name is not enough. */
	command_run("cp '%s' '%s/other' && mv '%s/other' '%s'", library, folder, folder, library);
	check_outer(&scene, &ended, "[deleted]");
	scene_free(&scene);
	command_run("rm -r '%s' '%s'", folder, empty);
}

/* As iaprof-worker does: its root is a folder in /proc, where lookups fail in another way once it has ended. */
TEST(a_root_in_proc_of_a_process_that_has_ended)
{
	CLEANUP_FREE char *folder = fixture_folder();
	CLEANUP_FREE char *library = install(folder, "libfixture_c.so");
	char path[64];
	struct scene scene;
	ck_assert(scene_new(&scene, NULL, folder, library));
	pid_t sandbox = fork();
	if (!sandbox) {
		pause();
		_exit(0);
	}
	snprintf(path, sizeof path, "/proc/%d/fdinfo", sandbox);
	CLEANUP_CLOSE int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root, 0);
	kill(sandbox, SIGKILL);
	ck_assert_int_eq(waitpid(sandbox, NULL, 0), sandbox);
	struct process ended = running(scene.child);
	ended.end = scene.after;
	ended.root = root;
	ended.is_chrooted = true;
	check_outer(&scene, &ended, "outer");
	scene_free(&scene);
	command_run("rm -r '%s'", folder);
}

/* A mount namespace of its own, with the library where nobody else has it. */
static int enter_namespace(const char *folder)
{
	char command[4096 + 64];
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", folder, "tmpfs", 0, NULL))
		return 1;
	snprintf(command, sizeof command, "cp \"$FIXTURE_FOLDER\"/libfixture_c.so '%s/lib.so'", folder);
	return system(command) != 0;
}

/* What is at the same path for everybody else is another library: its names would be wrong. */
START_TEST(a_file_of_another_mount_namespace)
{
	CLEANUP_FREE char *folder = fixture_folder();
	CLEANUP_FREE char *library = install(folder, "libfixture_cpp.so");
	struct scene scene;
	if (scene_new(&scene, enter_namespace, folder, library)) {
		char root_name[64];
		snprintf(root_name, sizeof root_name, "/proc/%d/root", scene.child);
		CLEANUP_CLOSE int root = open(root_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(root, 0);
		/* The process table keeps the namespace as well: without it, what is mounted in it goes with the
		 * process. */
		snprintf(root_name, sizeof root_name, "/proc/%d/ns/mnt", scene.child);
		CLEANUP_CLOSE int namespace = open(root_name, O_RDONLY | O_CLOEXEC);
		ck_assert_int_ge(namespace, 0);
		struct process process = running(scene.child), ended = running(scene.child);
		process.root = ended.root = root;
		ended.end = scene.after;
		check_outer(&scene, &process, "outer");
		check_outer(&scene, &ended, "outer");
		/* Its perf map is in its own /tmp. */
		CLEANUP_FREE char *map = NULL;
		ck_assert_int_gt(asprintf(&map, "/proc/%d/root/tmp/perf-%d.map", scene.child, scene.child), 0);
		command_run("echo '7000 100 generated' > '%s'", map);
		struct mapping anonymous = { .start = 0x7000, .end = 0x8000, .serial = 2, .path = "" };
		struct symbolizer *symbolizer = open_live();
		struct symbol symbol;
		symbolizer_resolve_user(symbolizer, &process, &anonymous, 0x7001, &symbol, 1);
		ck_assert_str_eq(symbol.name, "generated");
		symbolizer_free(symbolizer);
		unlink(map);
		scene_free(&scene);
		check_outer(&scene, &ended, "outer");
		ended.root = -1;
		check_outer(&scene, &ended, "[deleted]");
	} else {
		waitpid(scene.child, NULL, WNOHANG);
		kill(scene.child, SIGKILL);
	}
	command_run("rm -r '%s'", folder);
}
END_TEST

static bool may_make_namespaces(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(unshare(CLONE_NEWNS) != 0);
	int status;
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
	if (may_make_namespaces())
		tcase_add_test(all_tests(), a_file_of_another_mount_namespace);
	else
		printf("# a_file_of_another_mount_namespace needs CAP_SYS_ADMIN\n");
	return run_all_tests(300, NULL, NULL);
}
