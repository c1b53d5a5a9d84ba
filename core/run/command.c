/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the user's command: see command.h. */
#include "run/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"
#include "child/channel.h"
#include "config/value.h"
#include "run/stop_signals.h"

#define EXEC_TIME (10 * NANOSECONDS_PER_SECOND)

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

int command_failure(const struct error *error)
{
	if (error->code == -ENOENT || error->code == -EINVAL)
		return 127;
	return error->code == -ENOMEM || error->code == -ETIMEDOUT || error->code == -EPIPE ? 0 : 126;
}

/* Applies a sequence of "NAME=VALUE" strings, which must outlive the environment. */
static int apply_environment(char *changes, size_t size)
{
	for (char *change = changes; change < changes + size; change += strlen(change) + 1)
		if (putenv(change))
			return -1;
	return 0;
}

/* Messages: the changes of the environment to the child, which release it; the errno of a failed exec from it. */
enum { COMMAND_RELEASE = 1, COMMAND_FAILED };

struct held {
	const struct command *command;
	char *const *arguments;
};

/* Runs in the child: waits for the release, then executes the command. */
static void become(void *context, int channel)
{
	const struct held *held = context;
	static char changes[COMMAND_ENVIRONMENT_SIZE_MAX];
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct channel_answer release = { .type = COMMAND_RELEASE, .rest_max = sizeof changes };
	if (held->command->has_open_files)
		setrlimit(RLIMIT_NOFILE, &held->command->open_files);
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
	/* Without the release, iaprof has failed. */
	if (channel_receive_answer(channel, &release, NULL) || channel_read(channel, changes, release.rest, NULL) ||
	    apply_environment(changes, release.rest))
		return;
	execvp(held->arguments[0], held->arguments);
	int code = errno;
	(void)channel_send_bytes(channel, COMMAND_FAILED, &code, sizeof code, -1, NULL);
}

int command_hold(struct command *command, char *const *arguments, struct error *error)
{
	struct held held = { .command = command, .arguments = arguments };
	const struct child_setup setup = { .run = become, .context = &held, .channel = SOCK_STREAM };
	command->name = arguments[0];
	int result = child_start(&command->child, &setup);
	if (result)
		return error_set(error, result, "command %s: cannot start a process: %s", command->name,
				 strerror(-result));
	command->is_held = true;
	if (command->child.descriptor >= 0)
		return 0;
	command_end(command);
	return error_set(error, ENOSYS, "command %s: pidfd_open: needs Linux 5.3", command->name);
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

/* Sends the changes of the environment, which release the command. Returns 0 or a negative errno. */
static int send_release(const struct command *command, const struct deadline *deadline)
{
	char changes[COMMAND_ENVIRONMENT_SIZE_MAX];
	size_t size = 0;
	for (size_t i = 0; i < command->environment.count; i++) {
		size_t length = strlen(command->environment.items[i]) + 1;
		memcpy(changes + size, command->environment.items[i], length);
		size += length;
	}
	return channel_send_bytes(command->child.channel, COMMAND_RELEASE, changes, size, -1, deadline);
}

int command_release(struct command *command, struct error *error)
{
	/* The exec may block: a lease on the file (fcntl(2)), or a file system that does not respond. */
	struct deadline deadline = deadline_make(NULL, EXEC_TIME);
	int code;
	struct channel_answer failure = { .type = COMMAND_FAILED, .head = &code, .head_size = sizeof code };
	int result = send_release(command, &deadline);
	if (result == -EPIPE)
		return error_set(error, EPIPE, "command %s: ended before its program was started", command->name);
	command->is_held = false;
	if (!result)
		result = channel_receive_answer(command->child.channel, &failure, &deadline);
	if (!result) {
		error_set(error, code, "command %s: %s", command->name, strerror(code));
		command->failure = command_failure(error);
		return error->code;
	}
	close(STEAL_DESCRIPTOR(command->child.channel));
	if (result == -EPIPE) /* closed by a successful exec */
		return 0;
	/* The user's program has not been executed yet. */
	kill(command->child.pid, SIGKILL);
	return error_set(error, ETIMEDOUT, "command %s: not started within %d s (its file cannot be opened)",
			 command->name, (int)(EXEC_TIME / NANOSECONDS_PER_SECOND));
}

void command_end(struct command *command)
{
	if (!command->child.pid || child_wait(&command->child, 0))
		return;
	if (command->is_held)
		child_kill(&command->child, CHILD_KILL_TIME);
	else
		kill(command->child.pid, SIGTERM);
}

void command_close(struct command *command)
{
	child_forget(&command->child);
	for (size_t i = 0; i < command->environment.count; i++)
		free(command->environment.items[i]);
	array_free(&command->environment);
}

int command_exit_status(const struct command *command)
{
	int status = command->child.status;
	if (status == -1)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool command_has_failed(const struct command *command, char text[CHILD_CAUSE_SIZE])
{
	child_cause(command->child.status, text);
	return command->child.status > 0;
}
