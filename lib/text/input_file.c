/* SPDX-License-Identifier: Apache-2.0 */
/* See input_file.h. */
#include "text/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool input_file_is_stopping(const struct input_file *input)
{
	return input->stopping && __atomic_load_n(input->stopping, __ATOMIC_ACQUIRE);
}

static int fail_with_errno(const struct input_file *input, const struct iaprof_host *host, const char *what)
{
	int error = errno;
	return host->fail(host, error, "%s%s: %s", what, input->file, strerror(error));
}

int input_file_open(struct input_file *input, const struct iaprof_host *host, const char *file)
{
	input->file = file;
	int flags = O_RDONLY | O_CLOEXEC | (input->is_live ? O_NONBLOCK | O_NOCTTY : 0);
	input->descriptor = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, flags);
	return input->descriptor < 0 ? fail_with_errno(input, host, "open ") : 0;
}

/* Waits for the writer of a pipe, but not beyond the end of the run. Files are always ready. */
static int wait_readable(const struct input_file *input)
{
	struct pollfd descriptor = { .fd = input->descriptor, .events = POLLIN };
	for (;;) {
		if (input_file_is_stopping(input))
			return -ECANCELED;
		int ready = poll(&descriptor, 1, 100);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && input->is_live)
			return -EAGAIN;
	}
}

static ssize_t read_descriptor(const struct input_file *input, void *data, size_t size)
{
	for (;;) {
		int result = wait_readable(input);
		if (result < 0)
			return result;
		ssize_t got = read(input->descriptor, data, size);
		if (got >= 0)
			return got;
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
}

int input_file_peek(struct input_file *input, size_t capacity,
		    bool (*enough)(const char *bytes, size_t size, bool is_whole))
{
	if (!input->begin)
		input->begin = malloc(capacity);
	if (!input->begin)
		return -ENOMEM;
	ssize_t got = 1;
	bool is_whole = false;
	while (!is_whole && !enough(input->begin, input->begin_size, false)) {
		got = read_descriptor(input, input->begin + input->begin_size, capacity - input->begin_size);
		if (got < 0)
			return (int)got;
		input->begin_size += (size_t)got;
		is_whole = got == 0 || input->begin_size == capacity;
	}
	return 0;
}

ssize_t input_file_read_some(struct input_file *input, void *data, size_t size)
{
	size_t peeked = input->begin_size - input->begin_position;
	ssize_t got;
	if (peeked) {
		got = (ssize_t)(peeked < size ? peeked : size);
		memcpy(data, input->begin + input->begin_position, (size_t)got);
		input->begin_position += (size_t)got;
	} else {
		got = read_descriptor(input, data, size);
	}
	if (got > 0 && input->spool && fwrite(data, 1, (size_t)got, input->spool) != (size_t)got)
		return errno ? -errno : -EIO;
	return got;
}

ssize_t input_file_read(void *context, void *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t got = input_file_read_some(context, (char *)data + done, size - done);
		if (got < 0)
			return got;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int input_file_keep(struct input_file *input, const struct iaprof_host *host)
{
	if (lseek(input->descriptor, 0, SEEK_CUR) >= 0)
		return 0;
	input->spool = tmpfile();
	return input->spool ? 0 : fail_with_errno(input, host, "a file to read it twice from: ");
}

static void close_descriptor(struct input_file *input)
{
	if (input->descriptor > STDIN_FILENO)
		close(input->descriptor);
	input->descriptor = -1;
}

int input_file_rewind(struct input_file *input, const struct iaprof_host *host)
{
	input->begin_size = input->begin_position = 0;
	if (input->spool) {
		int copy = fflush(input->spool) ? -1 : fcntl(fileno(input->spool), F_DUPFD_CLOEXEC, 3);
		if (copy < 0)
			return fail_with_errno(input, host, "");
		close_descriptor(input);
		input->descriptor = copy;
		fclose(input->spool);
		input->spool = NULL;
	}
	return lseek(input->descriptor, 0, SEEK_SET) < 0 ? fail_with_errno(input, host, "") : 0;
}

void input_file_close(struct input_file *input)
{
	free(input->begin);
	input->begin = NULL;
	if (input->spool)
		fclose(input->spool);
	input->spool = NULL;
	close_descriptor(input);
}
