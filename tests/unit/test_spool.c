/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait in a folder: from one run to the next, bounded, and beside files of others. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "http/spool.h"
#include "../run_suite.h"

static char folder[] = "/tmp/iaprof-test-spool-XXXXXX";
static char failure[256];

static int keep_failure(const struct iaprof_host *host, int error, const char *format, ...)
{
	snprintf(failure, sizeof failure, "%s", format);
	return -error;
}

static const struct iaprof_host host = { .fail = keep_failure };

static struct spool *open_named(const char *name, uint64_t limit, bool compressed)
{
	struct spool *spool = NULL;
	const struct spool_options options = {
		.host = &host, .folder = folder, .name = name, .limit = limit, .compressed = compressed
	};
	int result = spool_open(&options, &spool);
	if (!result && (result = spool_begin(spool))) {
		spool_close(spool);
		spool = NULL;
	}
	ck_assert_int_eq(result != 0, spool == NULL);
	return spool;
}

static struct spool *open_it(uint64_t limit, bool compressed)
{
	return open_named("profiles", limit, compressed);
}

static uint64_t put(struct spool *spool, char letter, size_t size, uint32_t count)
{
	struct text body = { 0 };
	for (size_t i = 0; i < size; i++)
		text_append(&body, &letter, 1);
	uint64_t lost = 0;
	if (spool_put(spool, &body, count, &lost))
		lost += count;
	text_free(&body);
	return lost;
}

/* Takes and removes the oldest request. Returns its letter; '-' if there is none. */
static char take(struct spool *spool, size_t size, uint32_t wanted_count, uint64_t *lost)
{
	struct text body = { 0 };
	uint32_t count = 0;
	char letter = '-';
	if (spool_take(spool, &body, &count, lost)) {
		ck_assert_uint_eq(body.size, size);
		ck_assert_uint_eq(count, wanted_count);
		letter = body.data[0];
		spool_remove(spool);
	}
	text_free(&body);
	return letter;
}

static size_t files_count(const char *suffix)
{
	DIR *open = opendir(folder);
	size_t count = 0;
	for (const struct dirent *entry; (entry = readdir(open));)
		count += strlen(entry->d_name) > strlen(suffix) &&
			 !strcmp(entry->d_name + strlen(entry->d_name) - strlen(suffix), suffix);
	closedir(open);
	return count;
}

static void setup(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	*failure = '\0';
}

static void teardown(void)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

TEST(requests_survive_in_their_order)
{
	uint64_t lost = 0;
	struct spool *spool = open_it(1 << 20, false);
	ck_assert_uint_eq(put(spool, 'a', 100, 3) + put(spool, 'b', 200, 4), 0);
	ck_assert_uint_eq(spool_items(spool), 7);
	spool_close(spool);
	spool = open_it(1 << 20, false);
	ck_assert_uint_eq(put(spool, 'c', 300, 5), 0);
	ck_assert_int_eq(take(spool, 100, 3, &lost), 'a');
	ck_assert_int_eq(take(spool, 200, 4, &lost), 'b');
	ck_assert_int_eq(take(spool, 300, 5, &lost), 'c');
	ck_assert_int_eq(take(spool, 0, 0, &lost), '-');
	ck_assert_uint_eq(lost + spool_items(spool) + files_count(".request"), 0);
	spool_close(spool);
}

TEST(what_is_not_removed_is_sent_by_the_next_run)
{
	uint64_t lost = 0;
	uint32_t count;
	struct text body = { 0 };
	struct spool *spool = open_it(1 << 20, false);
	put(spool, 'a', 100, 3);
	ck_assert(spool_take(spool, &body, &count, &lost));
	text_free(&body);
	/* One at a time. */
	ck_assert(!spool_take(spool, &body, &count, &lost));
	ck_assert_uint_eq(spool_items(spool), 3);
	spool_close(spool);
	spool = open_it(1 << 20, false);
	ck_assert_int_eq(take(spool, 100, 3, &lost), 'a');
	ck_assert_uint_eq(lost, 0);
	spool_close(spool);
}

TEST(the_oldest_makes_room_and_is_counted)
{
	uint64_t lost = 0;
	struct spool *spool = open_it(1000, false);
	ck_assert_uint_eq(put(spool, 'a', 400, 1) + put(spool, 'b', 400, 10), 0);
	ck_assert_uint_eq(put(spool, 'c', 400, 100), 1);
	ck_assert_uint_eq(put(spool, 'd', 2000, 1000), 1000);
	ck_assert_int_eq(take(spool, 400, 10, &lost), 'b');
	ck_assert_int_eq(take(spool, 400, 100, &lost), 'c');
	ck_assert_uint_eq(lost, 0);
	spool_close(spool);
}

TEST(files_of_others_are_left_alone)
{
	uint64_t lost = 0;
	char command[512];
	struct spool *spool = open_it(1 << 20, false);
	put(spool, 'a', 100, 3);
	spool_close(spool);
	/* Notes, a link to a request, one that is cut, one of another kind, a folder, a FIFO, a name that is too long.
	 */
	snprintf(
		command, sizeof command,
		"cd %s && echo x >notes && set -- profiles-*.request && ln -s $1 profiles-00000000000000000001.request "
		"&& "
		"head -c 50 $1 >profiles-00000000000000000002.request && cp $1 metrics-00000000000000000003.request && "
		"mkdir profiles-00000000000000000004.request && mkfifo profiles-00000000000000000005.request && "
		"cp $1 profiles-99999999999999999999999.request",
		folder);
	ck_assert_int_eq(system(command), 0);
	size_t before = files_count("");
	spool = open_it(1 << 20, false);
	ck_assert_int_eq(take(spool, 100, 3, &lost), 'a');
	ck_assert_int_eq(take(spool, 0, 0, &lost), '-');
	ck_assert_uint_eq(lost, 0);
	spool_close(spool);
	ck_assert_uint_eq(files_count(""), before - 1);
}

TEST(a_request_of_the_other_form_is_lost_and_counted)
{
	uint64_t lost = 0;
	struct spool *spool = open_it(1 << 20, true);
	put(spool, 'a', 100, 3);
	spool_close(spool);
	spool = open_it(1 << 20, false);
	ck_assert_int_eq(take(spool, 0, 0, &lost), '-');
	ck_assert_uint_eq(lost, 3);
	ck_assert_uint_eq(files_count(".request"), 0);
	spool_close(spool);
}

TEST(a_folder_that_others_may_write_is_refused)
{
	ck_assert_int_eq(chmod(folder, 0777), 0);
	ck_assert_ptr_null(open_it(1 << 20, false));
	ck_assert_ptr_nonnull(strstr(failure, "spool"));
}

TEST(a_second_spool_of_the_kind_is_refused)
{
	struct spool *spool = open_it(1 << 20, false);
	ck_assert_ptr_nonnull(spool);
	ck_assert_ptr_null(open_it(1 << 20, false));
	ck_assert_str_eq(failure, "spool %s: %s");
	struct spool *other = open_named("metrics", 1 << 20, false);
	ck_assert_ptr_nonnull(other);
	spool_close(other);
	spool_close(spool);
	ck_assert_uint_eq(files_count(".lock"), 0);
	spool = open_it(1 << 20, false);
	ck_assert_ptr_nonnull(spool);
	spool_close(spool);
}

TEST(what_a_killed_run_left_is_removed)
{
	char command[512];
	snprintf(command, sizeof command,
		 "cd %s && touch profiles-00000000000000000007.part profiles.lock metrics-00000000000000000007.part "
		 "profiles-7.part",
		 folder);
	ck_assert_int_eq(system(command), 0);
	spool_close(open_it(1 << 20, false));
	ck_assert_uint_eq(files_count(".part"), 2);
	ck_assert_uint_eq(files_count(".lock"), 0);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
