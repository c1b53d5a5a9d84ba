/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that nobody can change: see sealed_file.h. */
#include "base/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define COPY_SIZE ((size_t)256 << 10)

/* One system call, again after a signal. */
#define RETRY(call)                                                                                                    \
	({                                                                                                             \
		ssize_t result_;                                                                                       \
		do                                                                                                     \
			result_ = (call);                                                                              \
		while (result_ < 0 && errno == EINTR);                                                                 \
		result_;                                                                                               \
	})

/* Copies one piece; returns its size or a negative errno. */
static ssize_t copy_piece(int from, int to, char *buffer, size_t wanted, uint64_t at)
{
	ssize_t length = RETRY(pread(from, buffer, wanted, (off_t)at));
	if (length <= 0)
		return length ? -errno : -ENOEXEC;
	ssize_t written = RETRY(write(to, buffer, (size_t)length));
	if (written != length)
		return written < 0 ? -errno : -EIO; /* of a file in memory all is written */
	return length;
}

static int copy(int from, int to, uint64_t size)
{
	CLEANUP_FREE char *buffer = malloc(COPY_SIZE);
	if (!buffer)
		return -ENOMEM;
	for (uint64_t at = 0; at < size;) {
		ssize_t length = copy_piece(from, to, buffer, size - at < COPY_SIZE ? size - at : COPY_SIZE, at);
		if (length < 0)
			return (int)length;
		at += (uint64_t)length;
	}
	return fcntl(to, F_ADD_SEALS, F_SEAL_SEAL | SEALS) ? -errno : 0;
}

int sealed_file_of(int descriptor, uint64_t size_max, uint64_t *size)
{
	struct stat status;
	if (fstat(descriptor, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if ((uint64_t)status.st_size > size_max)
		return -EFBIG;
	*size = (uint64_t)status.st_size;
	int seals = fcntl(descriptor, F_GET_SEALS);
	bool is_sealed = seals >= 0 && (seals & SEALS) == SEALS;
	int made = is_sealed ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
			     : memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (made < 0)
		return -errno;
	int code = is_sealed ? 0 : copy(descriptor, made, *size);
	if (code) {
		close(made);
		return code;
	}
	return made;
}
