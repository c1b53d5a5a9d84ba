// SPDX-License-Identifier: Apache-2.0
/* The stream's file: its name and flags, what cannot be done with it, enable and disable, read() with nothing there. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

static void the_file_has_its_name_and_no_flags(void)
{
	const struct property gt = { XE_EU_STALL_GT_ID, device.gt };
	char path[64], name[64] = { 0 };
	int fd = stream_open_with(&gt, 1);

	REQUIRE(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(readlink(path, name, sizeof(name) - 1) > 0);
	CHECK(strcmp(name, "anon_inode:[xe_eu_stall]") == 0);
	CHECK_EQUAL(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	CHECK_EQUAL(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
}

static void it_cannot_be_mapped_written_or_moved_in(void)
{
	char byte = 0;
	int fd = stream_open(1);

	REQUIRE(fd >= 0);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV);
	CHECK_FAILS(write(fd, &byte, 1), EBADF);
	CHECK_EQUAL(lseek(fd, 4096, SEEK_SET), 0);
	CHECK_EQUAL(lseek(fd, 0, SEEK_CUR), 0);
	close(fd);
}

static void only_enable_and_disable_are_ioctls(void)
{
	int fd = stream_open(1);

	REQUIRE(fd >= 0);
	for (unsigned number = 2; number < 8; number++)
		CHECK_FAILS(ioctl(fd, _IO('i', number), 0), EINVAL);
	CHECK_FAILS(ioctl(fd, XE_IOCTL_DEVICE_QUERY, &fd), EINVAL);
	CHECK_FAILS(ioctl(fd, _IO('j', 0), 0), EINVAL);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	close(fd);
}

static void reads_are_checked(void)
{
	uint8_t rows[2 * ROW_SIZE];
	int fd = stream_open(1);

	REQUIRE(fd >= 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EINVAL); /* disabled */
	CHECK(!is_readable(fd, 0));
	CHECK_EQUAL(ioctl(fd, XE_STREAM_ENABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, 0), EINVAL);
	CHECK_FAILS(read(fd, rows, ROW_SIZE - 1), EINVAL);
	if (device.is_double) {
		CHECK_FAILS(read(fd, rows, sizeof(rows)), EAGAIN);
		CHECK(!is_readable(fd, 30));
	}
	CHECK_EQUAL(ioctl(fd, XE_STREAM_DISABLE, 0), 0);
	CHECK_FAILS(read(fd, rows, sizeof(rows)), EINVAL);
	close(fd);
}

static void on_signal(int number)
{
	(void)number;
}

/* The read that a signal ends. It is asked for all rows that the kernel can hold, which are never there. */
struct blocked_reader {
	int fd;
	ssize_t result;
	int error;
	atomic_bool ended;
};

static void *read_blocking(void *argument)
{
	struct blocked_reader *reader = argument;
	uint8_t row[ROW_SIZE];

	reader->result = read(reader->fd, row, sizeof(row));
	reader->error = errno;
	reader->ended = true;
	return NULL;
}

static void a_signal_ends_a_blocking_read(void)
{
	/* SA_RESTART, which does not help: the error is EINTR itself. */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct blocked_reader reader = { .fd = stream_start(device.cores * RING_ROWS) };
	const struct timespec moment = { .tv_nsec = 5 * 1000 * 1000 };
	pthread_t thread;

	REQUIRE(reader.fd >= 0);
	fcntl(reader.fd, F_SETFL, 0);
	sigaction(SIGUSR1, &action, NULL);
	REQUIRE(pthread_create(&thread, NULL, read_blocking, &reader) == 0);
	/* Again and again, as the first may come before it sleeps. */
	while (!reader.ended) {
		nanosleep(&moment, NULL);
		if (!reader.ended)
			pthread_kill(thread, SIGUSR1);
	}
	pthread_join(thread, NULL);
	CHECK_EQUAL(reader.result, -1);
	CHECK_EQUAL(reader.error, EINTR);
	close(reader.fd);
}

void test_stream(void)
{
	TAP_RUN(the_file_has_its_name_and_no_flags);
	TAP_RUN(it_cannot_be_mapped_written_or_moved_in);
	TAP_RUN(only_enable_and_disable_are_ioctls);
	TAP_RUN(reads_are_checked);
	TAP_RUN(a_signal_ends_a_blocking_read);
}
