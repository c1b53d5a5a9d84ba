/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keys that were chosen to collide cost, beside ordinary ones: 40,000 names in a table of texts, and a whole
 * iaprof that samples while a program renames itself 40,000 times a second. And what the key of the hashes costs,
 * beside the hash without one that the tables had before.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../tests/programs/thread_names.h"
#include "base/string_table.h"
#include "child.h"
#include "ratio.h"

#define NAME_COUNT 40000u
#define ROUNDS 7
#define HASHES 2000000u
#define SECONDS 5

static char names[NAME_COUNT][THREAD_NAME_LENGTH + 1];

static struct rounds add_names(bool colliding)
{
	struct rounds rounds = { 0 };
	thread_names_make(colliding, NAME_COUNT, names);
	for (int i = 0; i < ROUNDS; i++) {
		struct string_table table = { 0 };
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		for (uint32_t k = 0; k < NAME_COUNT; k++)
			if (!string_table_add(&table, names[k], THREAD_NAME_LENGTH, NULL))
				exit(EXIT_FAILURE);
		rounds_add(&rounds, cpu_seconds_since(begin));
		string_table_free(&table);
	}
	return rounds;
}

static uint64_t keyed(const struct hash_key *key, const void *bytes, size_t size)
{
	return hash_bytes(bytes, size);
}

static uint64_t unkeyed(const struct hash_key *key, const void *bytes, size_t size)
{
	return unkeyed_hash(bytes, size);
}

static uint64_t multilinear(const struct hash_key *key, const void *bytes, size_t size)
{
	uint64_t words[HASH_WORDS_MAX] = { 0 };
	memcpy(words, bytes, size);
	return hash_words(key, words, HASH_WORDS_MAX);
}

/* Seconds for one hash. Each one is needed for the next, so that they cannot be computed side by side. */
static double hash_seconds(uint64_t (*hash)(const struct hash_key *key, const void *bytes, size_t size), size_t size)
{
	struct rounds rounds = { 0 };
	struct hash_key key;
	uint64_t bytes[128] = { 0 };
	hash_key_make(&key);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		for (uint32_t k = 0; k < HASHES; k++)
			bytes[0] = hash(&key, bytes, size);
		rounds_add(&rounds, cpu_seconds_since(begin));
	}
	return rounds.fastest / HASHES;
}

static void show_speed(void)
{
	static const size_t sizes[] = { 8, 15, 32, 56, 248 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double without = hash_seconds(unkeyed, sizes[i]), with = hash_seconds(keyed, sizes[i]);
		printf("%3zu bytes: %5.1f ns without a key, %5.1f ns with (SipHash): ratio %.2f\n", sizes[i],
		       without * 1e9, with * 1e9, with / without);
	}
	double without = hash_seconds(unkeyed, 32), with = hash_seconds(multilinear, 32);
	printf("  4 words: %5.1f ns without a key, %5.1f ns with (multilinear): ratio %.2f\n", without * 1e9,
	       with * 1e9, with / without);
}

/* CPU time of a whole run beside the renames; what it reports as lost is shown. */
static double run_seconds(const char *iaprof, const char *storm, const char *mode, const char *folder)
{
	char output[4200], messages[4200], count[16], line[4096];
	snprintf(output, sizeof output, "folded:output=%s/profile", folder);
	snprintf(messages, sizeof messages, "%s/messages", folder);
	snprintf(count, sizeof count, "%u", NAME_COUNT * (SECONDS + 2));
	char *renames[] = { (char *)storm, (char *)mode, count, (char *)"40000", NULL };
	char *run[] = { (char *)iaprof,      (char *)"-d", (char *)"5", (char *)"-s",
			(char *)"cpu-stack", (char *)"-k", output,      NULL };
	pid_t renaming = child_spawn(renames, NULL);
	struct child_usage usage = child_end(child_spawn(run, messages), 0);
	child_end(renaming, SIGKILL);
	FILE *file = fopen(messages, "re");
	while (file && fgets(line, sizeof line, file))
		if (strstr(line, "lost") || !WIFEXITED(usage.status) || WEXITSTATUS(usage.status))
			printf("    %s", line);
	if (file)
		fclose(file);
	return WIFEXITED(usage.status) && !WEXITSTATUS(usage.status) ? usage.cpu_seconds : 0;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench_hash IAPROF RENAME-STORM\n");
		return 2;
	}
	struct rounds ordinary = add_names(false), colliding = add_names(true);
	rounds_print(&ordinary, "40,000 ordinary names into a table", NAME_COUNT / 1e6, "million names");
	rounds_print(&colliding, "40,000 colliding names into a table", NAME_COUNT / 1e6, "million names");
	printf("CPU time, colliding to ordinary: %.2f (goal <= 1.2)\n", colliding.fastest / ordinary.fastest);
	show_speed();

	char *folder = child_make_folder();
	double usual = run_seconds(argv[1], argv[2], "ordinary", folder);
	double chosen = run_seconds(argv[1], argv[2], "colliding", folder);
	child_remove_folder(folder);
	if (!usual || !chosen) {
		printf("iaprof cannot profile here\n");
		return 0;
	}
	printf("%d s beside 40,000 renames/s: %.3f s of CPU time with ordinary names, %.3f s with colliding ones\n",
	       SECONDS, usual, chosen);
	printf("CPU time, colliding to ordinary: %.2f (goal <= 1.2)\n", chosen / usual);
	return 0;
}
