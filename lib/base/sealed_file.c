/* SPDX-License-Identifier: Apache-2.0 */
/* See sealed_file.h. */
#include "base/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int copy(int from, int to, uint64_t size)
{
	for (off_t at = 0; (uint64_t)at < size;) {
		ssize_t length = TEMP_FAILURE_RETRY(sendfile(to, from, &at, size - (uint64_t)at));
		if (length <= 0)
			return length ? -errno : -ENOEXEC;
	}
	return fcntl(to, F_ADD_SEALS, F_SEAL_SEAL | SEALS) ? -errno : 0;
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* include/uapi/linux/memfd.h, since Linux 6.3 */
#endif

/* With sysctl vm.memfd_noexec=2, Linux refuses files in memory without MFD_NOEXEC_SEAL; before 6.3, with it. */
static int memory_file_create(void)
{
	int descriptor = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (descriptor < 0 && errno == EINVAL)
		descriptor = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return descriptor;
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
	int made = is_sealed ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3) : memory_file_create();
	if (made < 0)
		return -errno;
	int code = is_sealed ? 0 : copy(descriptor, made, *size);
	if (code) {
		close(made);
		return code;
	}
	return made;
}
