// SPDX-License-Identifier: Apache-2.0
/* STREAM_OPEN: every property, every error, and the order in which they are checked; who may open. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

#define PARANOID "/proc/sys/dev/xe/observation_paranoid"

#define GT                                                                                                             \
	{                                                                                                              \
		XE_EU_STALL_GT_ID, device.gt                                                                           \
	}
/* Opening with these properties, closed at once if it works. */
#define OPEN(...)                                                                                                      \
	({                                                                                                             \
		const struct property properties_[] = { __VA_ARGS__ };                                                 \
		open_and_close(properties_, sizeof(properties_) / sizeof(properties_[0]));                             \
	})

static int open_and_close(const struct property *properties, unsigned count)
{
	int fd = stream_open_with(properties, count);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	return fd;
}

static void the_observation_itself_is_checked(void)
{
	struct xe_ext_set_property property = { .property = XE_EU_STALL_GT_ID, .value = device.gt };
	struct xe_observation_param param = { .extensions = (uintptr_t)&property,
					      .observation_type = 1,
					      .param = (uintptr_t)&property };

	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_OBSERVATION, &param), EINVAL);
	CHECK_FAILS(observe(2, 0, &property), EINVAL);
	CHECK_FAILS(observe(1, 1, &property), EINVAL);
	CHECK_FAILS(observe(1, 2, &property), EINVAL);
	CHECK_FAILS(observe(0, 3, &property), EINVAL);
	/* A device that has no OA units; a real one has some. */
	if (device.is_double)
		CHECK_FAILS(observe(0, 0, &property), ENODEV);
}

static void a_gt_has_to_be_named(void)
{
	const struct property rate = { XE_EU_STALL_SAMPLE_RATE, 251 };

	CHECK_EQUAL(OPEN(GT), 0);
	CHECK_FAILS(open_and_close(&rate, 1), EINVAL);
	CHECK_FAILS(OPEN({ XE_EU_STALL_GT_ID, 255 }), EINVAL);
	CHECK_FAILS(OPEN({ XE_EU_STALL_GT_ID, 77 }), EINVAL);
	/* The last one counts. */
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_GT_ID, 255 }), EINVAL);
}

/* A media GT has no Xe-cores, and so not even one row is few enough to wait for. */
static void a_media_gt_has_no_stream(void)
{
	uint32_t size;
	struct xe_query_gt_list *list = device_query(XE_QUERY_GT_LIST, &size);
	bool found = false;

	REQUIRE(list);
	for (unsigned i = 0; i < list->num_gt; i++)
		if (list->gt_list[i].type == 1) {
			found = true;
			CHECK_FAILS(OPEN({ XE_EU_STALL_GT_ID, list->gt_list[i].gt_id }), EINVAL);
		}
	free(list);
	if (!found)
		tap_skip("the device has no media GT");
}

static void sampling_rates_are_rounded_down(void)
{
	static const struct {
		uint64_t asked, got;
	} rates[] = { { 251, 251 }, { 252, 251 }, { 501, 251 }, { 502, 502 }, { 1757, 1757 }, { 2007, 1757 } };
	char text[64];
	int fd;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const struct property properties[] = { GT, { XE_EU_STALL_SAMPLE_RATE, rates[i].asked } };

		fd = stream_open_with(properties, 2);
		CHECK(fd >= 0);
		snprintf(text, sizeof(text), " rate %llu ", (unsigned long long)rates[i].got);
		if (device.is_double)
			CHECK(state_has(text));
		close(fd);
	}
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_SAMPLE_RATE, 0 }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_SAMPLE_RATE, 250 }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_SAMPLE_RATE, 2008 }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_SAMPLE_RATE, UINT64_MAX }), EINVAL);
	fd = stream_open(1);
	CHECK(fd >= 0);
	if (device.is_double)
		CHECK(state_has(" rate 1004 wait 1 "));
	close(fd);
}

static void rows_to_wait_for_are_bounded(void)
{
	uint64_t most = (uint64_t)device.cores * RING_ROWS;

	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, 0 }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, most + 1 }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, INT32_MAX }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, UINT32_MAX }), EINVAL);
	CHECK_EQUAL(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, most }), 0);
	CHECK_EQUAL(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, 1 }), 0);
}

static void at_most_five_extensions_are_taken(void)
{
	struct xe_ext_set_property endless = { .property = XE_EU_STALL_GT_ID, .value = device.gt };
	const struct property rate = { XE_EU_STALL_SAMPLE_RATE, 251 };

	CHECK_EQUAL(OPEN(GT, rate, rate, rate, rate), 0);
	CHECK_FAILS(OPEN(GT, rate, rate, rate, rate, rate), E2BIG);
	endless.base.next_extension = (uintptr_t)&endless;
	CHECK_FAILS(observe(1, 0, &endless), E2BIG);
	/* What is wrong in the first five is told first. */
	CHECK_FAILS(OPEN(GT, rate, rate, rate, { 99, 0 }, rate), EINVAL);
}

static void extensions_are_checked(void)
{
	const struct xe_ext_set_property good = { .property = XE_EU_STALL_GT_ID, .value = device.gt };
	struct xe_ext_set_property bad = good;
	int fd;

	bad.base.name = 1;
	CHECK_FAILS(observe(1, 0, &bad), EINVAL);
	bad = good;
	bad.base.pad = 1;
	CHECK_FAILS(observe(1, 0, &bad), EINVAL);
	bad = good;
	bad.pad = 1;
	CHECK_FAILS(observe(1, 0, &bad), EINVAL);
	bad = good;
	bad.property = 4;
	CHECK_FAILS(observe(1, 0, &bad), EINVAL);
	bad.property = UINT32_MAX;
	CHECK_FAILS(observe(1, 0, &bad), EINVAL);
	/* Kernels before the fix of December 2025 oops there, so a real device is spared. */
	bad.property = 0;
	if (device.is_double)
		CHECK_FAILS(observe(1, 0, &bad), EINVAL);
	/* Nobody looks at the reserved words. */
	bad = good;
	bad.reserved[0] = bad.reserved[1] = UINT64_MAX;
	fd = observe(1, 0, &bad);
	CHECK(fd >= 0);
	close(fd);
}

static void unreadable_extensions_are_faults(void)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xe_ext_set_property first = { .property = XE_EU_STALL_GT_ID,
					     .value = device.gt,
					     .base.next_extension = 4096 };
	struct xe_user_extension *head;

	REQUIRE(pages != MAP_FAILED);
	munmap(pages + page, (size_t)page);
	CHECK_FAILS(observe(1, 0, NULL), EFAULT);
	CHECK_FAILS(observe(1, 0, nowhere), EFAULT);
	CHECK_FAILS(observe(1, 0, &first), EFAULT);
	/* The head is readable, the rest is not: the head is checked first. */
	head = (void *)(pages + page - sizeof(*head));
	CHECK_FAILS(observe(1, 0, head), EFAULT);
	head->name = 1;
	CHECK_FAILS(observe(1, 0, head), EINVAL);
	munmap(pages, (size_t)page);
}

static int open_in_child(void *argument)
{
	(void)argument;
	return stream_open(1) >= 0 ? 0 : errno;
}

static void there_is_one_stream_for_each_gt(void)
{
	int fd = stream_open(1);

	REQUIRE(fd >= 0);
	CHECK_FAILS(stream_open(1), EBUSY);
	CHECK_EQUAL(in_child(open_in_child, NULL), EBUSY);
	/* Busy comes after the properties, and before the number of rows. */
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_SAMPLE_RATE, 0 }), EINVAL);
	CHECK_FAILS(OPEN(GT, { XE_EU_STALL_WAIT_NUM_REPORTS, 0 }), EBUSY);
	close(fd);
	CHECK_EQUAL(in_child(open_in_child, NULL), 0);
	/* The child ended, and so its stream. */
	CHECK_EQUAL(OPEN(GT), 0);
}

void test_open(void)
{
	TAP_RUN(the_observation_itself_is_checked);
	TAP_RUN(a_gt_has_to_be_named);
	TAP_RUN(a_media_gt_has_no_stream);
	TAP_RUN(sampling_rates_are_rounded_down);
	TAP_RUN(rows_to_wait_for_are_bounded);
	TAP_RUN(at_most_five_extensions_are_taken);
	TAP_RUN(extensions_are_checked);
	TAP_RUN(unreadable_extensions_are_faults);
	TAP_RUN(there_is_one_stream_for_each_gt);
}

static int open_as_nobody(void *argument)
{
	(void)argument;
	become_nobody();
	return open_in_child(NULL);
}

/* Rights come before the properties: even the address of nothing is not looked at. */
static int open_nothing_as_nobody(void *argument)
{
	(void)argument;
	become_nobody();
	return observe(1, 0, NULL) >= 0 ? 0 : errno;
}

static int open_with_capability(void *argument)
{
	unsigned capability = *(const unsigned *)argument;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[capability / 32].permitted = data[capability / 32].effective = 1u << capability % 32;
	if (prctl(PR_SET_KEEPCAPS, 1) != 0)
		return 200;
	become_nobody();
	if (syscall(SYS_capset, &header, data) != 0)
		return 201;
	return open_in_child(NULL);
}

static void opening_needs_a_right(void)
{
	unsigned perfmon = CAP_PERFMON, admin = CAP_SYS_ADMIN, other = CAP_SYS_PTRACE;

	if (geteuid() != 0 || !file_write(PARANOID, "1")) {
		tap_skip("needs root");
		return;
	}
	CHECK_EQUAL(in_child(open_as_nobody, NULL), EACCES);
	CHECK_EQUAL(in_child(open_nothing_as_nobody, NULL), EACCES);
	CHECK_EQUAL(in_child(open_with_capability, &perfmon), 0);
	CHECK_EQUAL(in_child(open_with_capability, &admin), 0);
	CHECK_EQUAL(in_child(open_with_capability, &other), EACCES);
	CHECK(file_write(PARANOID, "0"));
	CHECK_EQUAL(in_child(open_as_nobody, NULL), 0);
	CHECK_EQUAL(in_child(open_nothing_as_nobody, NULL), EFAULT);
	CHECK(file_write(PARANOID, "1"));
}

static void the_sysctl_is_a_switch(void)
{
	struct stat status;
	char text[16];

	REQUIRE(stat(PARANOID, &status) == 0);
	CHECK_EQUAL(status.st_mode & 07777, 0644);
	REQUIRE(file_read(PARANOID, text, sizeof(text)));
	CHECK(strcmp(text, "1\n") == 0);
	if (geteuid() == 0) {
		CHECK(!file_write(PARANOID, "2") && errno == EINVAL);
		CHECK(!file_write(PARANOID, "-1") && errno == EINVAL);
	}
}

static int use_as_nobody(void *argument)
{
	int fd = *(const int *)argument;
	uint8_t row[ROW_SIZE];

	become_nobody();
	if (ioctl(fd, XE_STREAM_ENABLE, 0) != 0)
		return 100;
	if (read(fd, row, sizeof(row)) < 0 && errno != EAGAIN && errno != EIO)
		return 101;
	return ioctl(fd, XE_STREAM_DISABLE, 0) == 0 ? 0 : 102;
}

static void an_open_stream_needs_no_right(void)
{
	int fd;

	if (geteuid() != 0) {
		tap_skip("needs root");
		return;
	}
	fd = stream_open(1);
	REQUIRE(fd >= 0);
	CHECK_EQUAL(in_child(use_as_nobody, &fd), 0);
	close(fd);
}

void test_rights(void)
{
	TAP_RUN(opening_needs_a_right);
	TAP_RUN(the_sysctl_is_a_switch);
	TAP_RUN(an_open_stream_needs_no_right);
}
