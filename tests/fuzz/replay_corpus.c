/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over its corpus, each file a TAP subtest: what once broke a parser is tried in every build. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* False if the file could not be read: a corpus that is not read must not pass. */
static bool replay_file(const char *path)
{
	FILE *file CLEANUP_FCLOSE = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		return false;
	long size = ftell(file);
	if (size < 0)
		return false;
	rewind(file);
	/* Exactly as large as the input, so that a read beyond its end is seen by valgrind and ASan. */
	uint8_t *data CLEANUP_FREE = malloc(size > 0 ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		return false;
	LLVMFuzzerTestOneInput(data, (size_t)size);
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int count = argc == 2 ? scandir(argv[1], &entries, is_visible, alphasort) : -1;
	if (count <= 0) {
		printf("Bail out! usage: %s FOLDER, with at least one file in it\n", argv[0]);
		return EXIT_FAILURE;
	}
	int failed = 0;
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
		bool ok = replay_file(path);
		printf("%sok %d - %s\n", ok ? "" : "not ", i + 1, entries[i]->d_name);
		fflush(stdout);
		failed += !ok;
		free(entries[i]);
	}
	free(entries);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
