/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of users in the cache of device code images. Needs root, which makes files of others. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ze-usdt/device_images.h"
#include "../run_suite.h"

#define STRANGER 61234u
/* The share of a user in images of at most 1 MiB: device_images.c. */
#define SHARE 256u
#define SECOND UINT64_C(1000000000)

static char folder[] = "/tmp/iaprof-test-XXXXXX", image[sizeof folder + 8];

/* Writes an image that no other one is identical with. */
static void image_write(unsigned number, uint32_t user)
{
	char path[4096], bytes[65536];
	const uint32_t end[] = { number, user };
	snprintf(path, sizeof path, "%s/bmg/systolic.loaded-debug.elf", getenv("ZEBIN_FOLDER"));
	CLEANUP_CLOSE int from = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int to = open(image, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (ssize_t size; (size = read(from, bytes, sizeof bytes)) > 0;)
		ck_assert_int_eq(write(to, bytes, (size_t)size), size);
	ck_assert_int_eq(write(to, end, sizeof end), sizeof end);
	ck_assert_int_eq(fchown(to, user, user), 0);
}

static const struct device_image *image_read(struct device_images *cache, uint32_t user, uint64_t now)
{
	const struct announced_image claim = { .path = image, .process = (uint32_t)getpid(), .user = user };
	const char *reason = "";
	const struct device_image *found = device_images_read(cache, &claim, now, &reason);
	ck_assert_msg(found || strstr(reason, "too many images of its user"), "%s", reason);
	return found;
}

TEST(a_user_fills_only_his_share)
{
	struct device_images cache = { 0 };
	if (geteuid() != 0)
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(image, sizeof image, "%s/image", folder);
	ck_assert_int_eq(device_images_init(&cache), 0);
	cache.broker = broker_new();
	ck_assert_ptr_nonnull(cache.broker);
	for (unsigned i = 0; i < SHARE; i++) {
		image_write(i, STRANGER);
		ck_assert_ptr_nonnull(image_read(&cache, STRANGER, SECOND));
		/* An identical image is not charged again. */
		ck_assert_ptr_nonnull(i == SHARE - 1 ? cache.items : image_read(&cache, STRANGER, SECOND));
	}
	image_write(SHARE, STRANGER);
	ck_assert_ptr_null(image_read(&cache, STRANGER, SECOND));
	image_write(0, STRANGER + 1);
	ck_assert_ptr_nonnull(image_read(&cache, STRANGER + 1, SECOND));
	image_write(0, 0);
	ck_assert_ptr_nonnull(image_read(&cache, 0, SECOND));
	/* Those that nobody needs any more make room. */
	image_write(SHARE, STRANGER);
	ck_assert_ptr_nonnull(image_read(&cache, STRANGER, 8 * SECOND));
	ck_assert_uint_eq(cache.users.amount, UINT64_C(1) << 20);
	device_images_free(&cache);
	broker_free(cache.broker);
	unlink(image);
	rmdir(folder);
}

int main(void)
{
	return run_all_tests(240, NULL, NULL);
}
