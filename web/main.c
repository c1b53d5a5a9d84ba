/* SPDX-License-Identifier: Apache-2.0 */
/* The program iaprof-web: serves the last hours of a ring on this machine, read-only. */
#include <dirent.h>
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/machine.h"
#include "base/private_folder.h"
#include "base/regular_file.h"
#include "pages.h"

#define ADDRESS_DEFAULT "127.0.0.1:9860"

enum exit_status { STATUS_COMPLETE, STATUS_FAILED, STATUS_USAGE };

struct choices {
	const char *address;
	const char *folder;   /* NULL: the default of sink ring */
	const char *program;  /* NULL: iaprof beside this program */
	const char *url_file; /* NULL: the address is printed */
};

static const char help[] =
	"Usage: iaprof-web [OPTION...]\n"
	"Serves the last hours that iaprof --continuous recorded as a page for browsers on this machine.\n\n"
	"  --address HOST:PORT  Loopback address of the server, default " ADDRESS_DEFAULT "\n"
	"  --folder FOLDER      Folder of the ring, default as of sink ring\n"
	"  --iaprof PROGRAM     Program that makes flame graphs, default iaprof beside this program\n"
	"  --url-file FILE      Write the address with its token to a file of mode 0600 instead of printing it\n"
	"  --help               Show this help\n"
	"  --version            Show the version\n";

/* Returns -1, or the exit status of a program that ends. */
static int read_options(struct choices *choices, int count, char **arguments)
{
	static const struct option options[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "folder", required_argument, NULL, 'f' },
		{ "iaprof", required_argument, NULL, 'i' },
		{ "url-file", required_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	for (int found; (found = getopt_long(count, arguments, "h", options, NULL)) >= 0;)
		switch (found) {
		case 'a':
			choices->address = optarg;
			break;
		case 'f':
			choices->folder = optarg;
			break;
		case 'i':
			choices->program = optarg;
			break;
		case 'u':
			choices->url_file = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_COMPLETE;
		case 'V':
			puts("iaprof-web " PROGRAM_VERSION);
			return STATUS_COMPLETE;
		default:
			return STATUS_USAGE;
		}
	if (optind == count)
		return -1;
	warnx("unexpected argument %s", arguments[optind]);
	return STATUS_USAGE;
}

/* Returns the path of iaprof beside this program, which the caller frees; NULL with errno set. */
static char *find_iaprof(void)
{
	CLEANUP_FREE char *folder = program_folder();
	char *path;
	return folder && asprintf(&path, "%s/iaprof", folder) >= 0 ? path : NULL;
}

/* Returns an absolute path, which the caller frees, whether it exists or not; NULL with errno set. */
static char *absolute_path(const char *path)
{
	char folder[PATH_MAX], *joined;
	if (*path == '/')
		return strdup(path);
	if (!getcwd(folder, sizeof folder) || asprintf(&joined, "%s/%s", folder, path) < 0)
		return NULL;
	return joined;
}

/* Returns 0 or a negative errno: the file is not a program, or may not be run by this user. */
static int check_program(const char *path)
{
	char start[4];
	CLEANUP_CLOSE int file = regular_file_open(-1, path, 0);
	if (access(path, X_OK))
		return -errno;
	if (file == -EINVAL)
		return -EISDIR;
	/* A program may be executable without being readable. */
	if (file < 0)
		return 0;
	ssize_t size = file_read_at(file, start, sizeof start, 0);
	bool is_program = size == sizeof start && (!memcmp(start, ELFMAG, SELFMAG) || !memcmp(start, "#!", 2));
	return is_program ? 0 : -ENOEXEC;
}

static bool has_files(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	while (entries && (entry = readdir(entries)))
		if (entry->d_name[0] != '.')
			return true;
	return false;
}

/* Warns about a folder that is not that of a ring, or not yet: the page then has no data. */
static void check_folder(const char *path)
{
	struct ring_segments segments = { 0 };
	const char *why;
	CLEANUP_CLOSE int folder = private_folder_open(path, false, &why);
	int result = folder < 0 ? folder : ring_folder_list(folder, &segments);
	if (result)
		warnx("warning: cannot read the ring %s: %s (%s)", path, strerror(-result),
		      result == -EACCES ? "set group=yes for the sink ring, and join its group"
					: "start iaprof --continuous, or set --folder=FOLDER");
	else if (!segments.count && !segments.partial && has_files(folder))
		warnx("warning: %s is not the folder of a ring: it has files but no interval of iaprof --continuous "
		      "(set --folder=FOLDER)",
		      path);
	array_free(&segments);
}

/* Writes a file that only this user can read. Returns 0 or a negative errno. */
static int write_private(const char *path, const char *text)
{
	unlink(path);
	CLEANUP_CLOSE int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	ssize_t written = write(file, text, strlen(text));
	return written == (ssize_t)strlen(text) ? 0 : written < 0 ? -errno : -EIO;
}

static int announce(const struct choices *choices, const struct http_server *server, const struct access *access)
{
	char address[HTTP_SERVER_ADDRESS_SIZE], url[HTTP_SERVER_ADDRESS_SIZE + ACCESS_SECRET_SIZE + 32];
	http_server_address(server, address);
	snprintf(url, sizeof url, "http://%s/?token=%s\n", address, access->token);
	if (choices->url_file) {
		int result = write_private(choices->url_file, url);
		if (result)
			warnx("cannot write %s: %s", choices->url_file, strerror(-result));
		return result;
	}
	fputs(url, stdout);
	return fflush(stdout) ? -errno : 0;
}

/* Serves until a signal arrives. */
static enum exit_status serve(const struct choices *choices, struct pages *pages, const sigset_t *signals)
{
	struct error error = { 0 };
	int number;
	/* The flags are those of a server whose requests wait for a process. */
	struct http_server *server =
		http_server_listen(choices->address, HTTP_SERVER_LOOPBACK | HTTP_SERVER_THREADED, &error);
	if (!server) {
		warnx("%s (set --address=HOST:PORT)", error.text);
		return error.code == -EINVAL ? STATUS_USAGE : STATUS_FAILED;
	}
	int result = http_server_start(server, pages_answer, pages, &error);
	if (result)
		warnx("%s", error.text);
	else
		result = announce(choices, server, &pages->access);
	if (!result)
		sigwait(signals, &number);
	eventfd_write(pages->flamegraph.stop, 1);
	http_server_free(server);
	if (choices->url_file)
		unlink(choices->url_file);
	return result ? STATUS_FAILED : STATUS_COMPLETE;
}

int main(int count, char **arguments)
{
	struct choices choices = { .address = ADDRESS_DEFAULT };
	struct pages pages = { .flamegraph.stop = -1 };
	sigset_t signals;
	int stream, status = read_options(&choices, count, arguments);
	if (status >= 0)
		return status;
	/* Pipes are never the standard streams of a child. */
	while ((stream = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && stream <= STDERR_FILENO)
		;
	close(stream);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL); /* and in all threads */
	signal(SIGPIPE, SIG_IGN);
	CLEANUP_FREE char *chosen = choices.folder ? strdup(choices.folder) : ring_folder_default();
	if (!chosen)
		errx(STATUS_FAILED, "the default folder is not known (set --folder)");
	CLEANUP_FREE char *folder = absolute_path(chosen);
	CLEANUP_FREE char *program = choices.program ? absolute_path(choices.program) : find_iaprof();
	if (!folder || !program)
		err(STATUS_FAILED, "cannot find the folder or iaprof");
	int wrong = check_program(program);
	if (wrong)
		errx(choices.program ? STATUS_USAGE : STATUS_FAILED, "cannot run %s: %s (set --iaprof=PROGRAM)",
		     program, strerror(-wrong));
	check_folder(folder);
	pages.flamegraph = (struct flamegraph){ .program = program,
						.folder = folder,
						.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (pages.flamegraph.stop < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !access_init(&pages.access))
		err(STATUS_FAILED, "cannot start");
	overview_init(&pages.overview, folder);
	status = serve(&choices, &pages, &signals);
	overview_free(&pages.overview);
	close(pages.flamegraph.stop);
	return status;
}
