/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the user's command: see command.h. */
#include "run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/clock.h"
#include "config/value.h"
#include "run/stop_signals.h"

#define EXEC_DEADLINE_MS 10000
#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)

static bool is_executable(const char *path)
{
	struct stat status;
	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

static int check_path(const char *name, struct error *error)
{
	struct stat status;
	if (stat(name, &status))
		return error_set(error, errno, "command %s: %s", name, strerror(errno));
	if (!is_executable(name))
		return error_set(error, EACCES, "command %s: not an executable file%s", name,
				 S_ISREG(status.st_mode) ? " (--replay FILE reads a capture or a profile)" : "");
	return 0;
}

/* Reports a command such as "outpt=x", which is an option of a plugin after a blank. */
static int option_as_command(const char *name, struct error *error)
{
	/* Those of most plugins. */
	static const char *const keys[] = {
		"output", "format", "value", "title", "lines", "frequency", "interval", NULL
	};
	CLEANUP_FREE char *key = strndup(name, strcspn(name, "="));
	const char *nearest = key ? value_nearest_name(key, keys) : NULL;
	if (nearest)
		return error_set(error, ENOENT, "command %s: not found in PATH (did you mean -k NAME:%s=VALUE?)", name,
				 nearest);
	return error_set(error, ENOENT,
			 "command %s: not found in PATH (plugins are configured as in -k NAME:KEY=VALUE)", name);
}

int command_check(char *const *arguments, struct error *error)
{
	const char *name = arguments[0];
	if (!*name)
		return error_set(error, EINVAL, "the command is empty");
	if (strchr(name, '/'))
		return check_path(name, error);
	const char *path = getenv("PATH");
	CLEANUP_FREE char *copy = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	char *rest = copy;
	for (const char *folder; copy && (folder = strsep(&rest, ":"));) {
		CLEANUP_FREE char *file = format_new("%s/%s", *folder ? folder : ".", name);
		if (!file)
			return error_set(error, ENOMEM, "out of memory");
		if (is_executable(file))
			return 0;
	}
	if (strchr(name, '='))
		return option_as_command(name, error);
	struct stat status;
	bool is_here = !stat(name, &status) && S_ISREG(status.st_mode);
	return error_set(error, ENOENT, "command %s: not found in PATH%s", name,
			 !is_here              ? ""
			 : is_executable(name) ? " (write ./ before its name)"
					       : " (--replay FILE reads a capture or a profile)");
}

/* Applies a sequence of "NAME=VALUE" strings, which must outlive the environment. */
static int apply_environment(char *changes, size_t size)
{
	for (char *change = changes; change < changes + size; change += strlen(change) + 1)
		if (putenv(change))
			return -1;
	return 0;
}

/* Runs in the child: waits for the release, then executes the command. */
static _Noreturn void become(const struct command *command, char *const *arguments, int release, int exec_error)
{
	if (command->has_open_files)
		setrlimit(RLIMIT_NOFILE, &command->open_files);
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		/*
		 * Signals that iaprof's caller ignores (nohup) stay ignored, except SIGPIPE, which iaprof itself
		 * ignores.
		 */
		struct sigaction action;
		if (stop_signal_was_ignored(signals[i]))
			signal(signals[i], SIG_IGN);
		else if (!sigaction(signals[i], NULL, &action) &&
			 (action.sa_handler != SIG_IGN || signals[i] == SIGPIPE))
			signal(signals[i], SIG_DFL);
	}
	static char changes[COMMAND_ENVIRONMENT_SIZE_MAX + 1];
	size_t size = 0;
	ssize_t part;
	while ((part = read(release, changes + size, sizeof changes - size)) > 0 || (part < 0 && errno == EINTR))
		size += part > 0 ? (size_t)part : 0;
	/* An extra NUL after the changes is the release. If it is missing, iaprof failed. */
	bool complete = size && !changes[size - 1] && (size == 1 || !changes[size - 2]);
	if (!complete || apply_environment(changes, size - 1))
		_exit(127);
	execvp(arguments[0], arguments);
	int code = errno;
	if (write(exec_error, &code, sizeof code) < 0)
		_exit(126);
	_exit(127);
}

int command_hold(struct command *command, char *const *arguments, struct error *error)
{
	int release[2] = { -1, -1 }, exec_error[2] = { -1, -1 };
	command->name = arguments[0];
	int result = 0;
	if (pipe2(release, O_CLOEXEC) || pipe2(exec_error, O_CLOEXEC)) {
		result = error_set(error, errno, "pipe: %s", strerror(errno));
		goto out;
	}
	command->pid = fork();
	if (command->pid == 0) {
		close(release[1]);
		become(command, arguments, release[0], exec_error[1]);
	}
	if (command->pid < 0) {
		result = error_set(error, errno, "fork: %s", strerror(errno));
		command->pid = 0;
		goto out;
	}
	command->release = STEAL_DESCRIPTOR(release[1]);
	command->exec_error = STEAL_DESCRIPTOR(exec_error[0]);
	command->descriptor = (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (command->descriptor < 0) {
		result = error_set(error, errno, "pidfd_open: %s: needs Linux 5.3", strerror(errno));
		command_end(command);
	}
out:
	for (int i = 0; i < 2; i++) {
		if (release[i] >= 0)
			close(release[i]);
		if (exec_error[i] >= 0)
			close(exec_error[i]);
	}
	return result;
}

/* Returns the earlier change of a variable, or NULL. */
static char **find_change(struct command *command, const char *name, size_t length)
{
	for (size_t i = 0; i < command->environment.count; i++) {
		char **change = &command->environment.items[i];
		if (!strncmp(*change, name, length) && (*change)[length] == '=')
			return change;
	}
	return NULL;
}

int command_set_environment(struct command *command, const char *name, const char *value, bool prepend)
{
	size_t length = strlen(name), size = 0;
	if (!length || strchr(name, '='))
		return -EINVAL;
	char **known = find_change(command, name, length);
	const char *old = known ? *known + length + 1 : getenv(name);
	bool has_old = prepend && old && *old;
	CLEANUP_FREE char *text = format_new("%s=%s%s%s", name, value, has_old ? ":" : "", has_old ? old : "");
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < command->environment.count; i++)
		size += &command->environment.items[i] == known ? 0 : strlen(command->environment.items[i]) + 1;
	if (size + strlen(text) + 1 > COMMAND_ENVIRONMENT_SIZE_MAX)
		return -E2BIG;
	if (known) {
		free(*known);
		*known = STEAL_POINTER(text);
	} else if (array_push(&command->environment, text)) {
		text = NULL;
	} else {
		return -ENOMEM;
	}
	return 0;
}

/* Sends the changes of the environment and the release. They fit into the pipe: a short write means that the child has
 * ended. */
static bool send_release(const struct command *command)
{
	char message[COMMAND_ENVIRONMENT_SIZE_MAX + 1];
	size_t size = 0;
	for (size_t i = 0; i < command->environment.count; i++) {
		size_t length = strlen(command->environment.items[i]) + 1;
		memcpy(message + size, command->environment.items[i], length);
		size += length;
	}
	message[size++] = '\0';
	return write(command->release, message, size) == (ssize_t)size;
}

/* The exec may block: a lease on the file (fcntl(2)), or a file system that does not respond. */
static bool exec_is_decided(int exec_error)
{
	struct pollfd end = { .fd = exec_error, .events = POLLIN };
	uint64_t deadline = clock_monotonic() + EXEC_DEADLINE_MS * NANOSECONDS_PER_MILLISECOND;
	for (uint64_t now; (now = clock_monotonic()) < deadline;) {
		int count = poll(&end, 1, (int)((deadline - now) / NANOSECONDS_PER_MILLISECOND) + 1);
		if (count > 0 || (count < 0 && errno != EINTR))
			return true;
	}
	return false;
}

int command_release(struct command *command, struct error *error)
{
	if (!send_release(command))
		return error_set(error, EPIPE, "command %s: ended before its program was started", command->name);
	close(STEAL_DESCRIPTOR(command->release));
	int code;
	ssize_t size; /* the other end is closed by a successful exec */
	if (!exec_is_decided(command->exec_error)) {
		/* The user's program has not been executed yet. */
		kill(command->pid, SIGKILL);
		return error_set(error, ETIMEDOUT, "command %s: not started within %d s (its file cannot be opened)",
				 command->name, EXEC_DEADLINE_MS / 1000);
	}
	while ((size = read(command->exec_error, &code, sizeof code)) < 0 && errno == EINTR)
		;
	close(STEAL_DESCRIPTOR(command->exec_error));
	return size == sizeof code ? error_set(error, code, "command %s: %s", command->name, strerror(code)) : 0;
}

bool command_collect(struct command *command)
{
	if (!command->ended && command->pid && waitpid(command->pid, &command->status, WNOHANG) == command->pid)
		command->ended = true;
	return command->ended;
}

void command_end(struct command *command)
{
	if (!command->pid || command_collect(command))
		return;
	kill(command->pid, command->release >= 0 ? SIGKILL : SIGTERM);
	if (command->release >= 0) {
		waitpid(command->pid, &command->status, 0);
		command->ended = true;
	}
}

void command_close(struct command *command)
{
	int *const descriptors[] = { &command->descriptor, &command->release, &command->exec_error };
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
		if (*descriptors[i] >= 0)
			close(STEAL_DESCRIPTOR(*descriptors[i]));
	for (size_t i = 0; i < command->environment.count; i++)
		free(command->environment.items[i]);
	array_free(&command->environment);
}

void command_describe(const struct command *command, char *text, size_t size)
{
	*text = '\0';
	if (!command->ended)
		return;
	if (WIFSIGNALED(command->status))
		snprintf(text, size, "%s was killed by signal %d (%s)", command->name, WTERMSIG(command->status),
			 strsignal(WTERMSIG(command->status)));
	else if (WEXITSTATUS(command->status))
		snprintf(text, size, "%s exited with status %d", command->name, WEXITSTATUS(command->status));
}
