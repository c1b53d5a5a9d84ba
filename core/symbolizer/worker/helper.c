/* SPDX-License-Identifier: Apache-2.0 */
/* See helper.h. */
#include "symbolizer/worker/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/priority.h"
#include "config/build_paths.h"
#include "process/proc_reader.h"

/* Depth of programs below the root of a build tree: tests/unit/symbolizer/NAME. */
#define BUILD_TREE_DEPTH 4
/* A killed process ends within microseconds, unless it is blocked in the Linux kernel by a device or a server. */
#define END_ATTEMPTS 20
#define END_INTERVAL_US 500

/* Returns whether only root, the current user and the owner of this program can write a file or folder. */
static bool is_safe(const char *path)
{
	struct stat status, own;
	if (stat(path, &status) || stat("/proc/self/exe", &own) || status.st_mode & S_IWOTH)
		return false;
	return status.st_uid == 0 || status.st_uid == geteuid() || status.st_uid == own.st_uid;
}

/* Returns the root of the build tree that contains a folder, or NULL. */
static char *build_tree_of(const char *folder)
{
	CLEANUP_FREE char *root = strdup(folder);
	for (int depth = 0; root && depth < BUILD_TREE_DEPTH; depth++) {
		CLEANUP_FREE char *probe = NULL;
		if (asprintf(&probe, "%s/meson-info", root) < 0)
			return NULL;
		if (!access(probe, F_OK) && is_safe(root) && is_safe(probe))
			return STEAL_POINTER(root);
		char *slash = strrchr(root, '/');
		if (!slash || slash == root)
			return NULL;
		*slash = '\0';
	}
	return NULL;
}

static bool try_folder(char **path, const char *folder, const char *subfolder, const char *name)
{
	if (asprintf(path, "%s%s/%s", folder, subfolder, name) < 0) {
		*path = NULL;
		return false;
	}
	CLEANUP_FREE char *parent = strdup(*path);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	if (slash)
		*slash = '\0';
	if (slash && !access(*path, X_OK) && is_safe(*path) && is_safe(parent))
		return true;
	free(STEAL_POINTER(*path));
	return false;
}

/* Finds a helper: in the build tree of this program, relative to a relocated installation, or as installed. */
static int find_program(char **path, const char *name)
{
	CLEANUP_FREE char *folder = program_folder();
	if (folder) {
		CLEANUP_FREE char *tree = build_tree_of(folder);
		if (tree ? try_folder(path, tree, "", name)
			 : try_folder(path, folder, "/" HELPER_FOLDER_FROM_BIN, name))
			return 0;
	}
	return try_folder(path, HELPER_FOLDER, "", name) ? 0 : -ENOENT;
}

/*
 * Starts a child with the socket, /dev/null as standard input and output, iaprof's standard error, and default signal
 * settings.
 */
static int spawn(pid_t *pid, const char *path, char *const *arguments, int socket)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	/*
	 * Only the library path is inherited from the environment, because the helper runs with different privileges.
	 */
	const char *libraries = secure_getenv("LD_LIBRARY_PATH");
	CLEANUP_FREE char *library_path = NULL;
	if (libraries && asprintf(&library_path, "LD_LIBRARY_PATH=%s", libraries) < 0) {
		library_path = NULL;
		return -ENOMEM;
	}
	/* Huge pages, if the machine permits them: a worker allocates new memory for each file. */
	char *const environment[] = { "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", library_path, NULL };
	posix_spawn_file_actions_init(&actions); /* glibc's and musl's initialisers cannot fail */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int code = posix_spawn_file_actions_adddup2(&actions, socket, HELPER_SOCKET);
	for (int stream = STDIN_FILENO; !code && stream <= STDOUT_FILENO; stream++)
		code = posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
	if (!code)
		code = posix_spawn_file_actions_addclosefrom_np(&actions, HELPER_SOCKET + 1);
	if (!code)
		code = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -code;
}

/* Returns the CPU time of children that were waited for. */
static uint64_t ended_children_cpu_time(pid_t pid)
{
	char text[PROC_STATUS_SIZE];
	struct proc_status status;
	return proc_status_read((uint32_t)pid, text, &status) ? 0 : proc_ticks_to_ns(status.children_ticks);
}

/* Adds the CPU time of running children; none on Linux kernels without CONFIG_PROC_CHILDREN. Returns whether any run.
 */
static bool add_running_children(pid_t pid, uint64_t *sum)
{
	char path[64];
	bool has_children = false;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	for (int child; file && fscanf(file, "%d", &child) == 1; has_children = true)
		*sum += clock_of_process(child);
	return has_children;
}

/* Reads /proc only if the process has run, because it has no new children, and none have ended, otherwise. */
uint64_t helper_cpu_time(struct helper *helper)
{
	if (helper->pid <= 0)
		return helper->spent;
	uint64_t own = clock_of_process(helper->pid), running = 0;
	if (own != helper->own || helper->has_children) {
		helper->own = own;
		helper->ended = ended_children_cpu_time(helper->pid);
		helper->has_children = add_running_children(helper->pid, &running);
	}
	return helper->spent + own + helper->ended + running;
}

int helper_start(struct helper *helper, char *const *arguments)
{
	CLEANUP_FREE char *path = NULL;
	int sockets[2];
	*helper = (struct helper){ .socket = -1, .spent = helper->spent };
	int code = find_program(&path, arguments[0]);
	if (code)
		return code;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	/* If the child's end were HELPER_SOCKET, dup2() would keep its close-on-exec flag. */
	CLEANUP_CLOSE int child = fcntl(sockets[1], F_DUPFD_CLOEXEC, HELPER_SOCKET + 1);
	code = child < 0 ? -errno : spawn(&helper->pid, path, arguments, child);
	close(sockets[1]);
	if (code) {
		close(sockets[0]);
		helper->pid = 0;
		return code;
	}
	priority_raise_session(helper->pid);
	helper->socket = sockets[0];
	return 0;
}

void helper_stop(struct helper *helper)
{
	uint64_t spent = helper_cpu_time(helper);
	if (helper->socket >= 0)
		close(helper->socket);
	if (helper->pid > 0) {
		kill(helper->pid, SIGKILL);
		for (int i = 0; i < END_ATTEMPTS && waitpid(helper->pid, NULL, WNOHANG) == 0; i++)
			usleep(END_INTERVAL_US);
	}
	*helper = (struct helper){ .socket = -1, .spent = spent };
}
