/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of EU stalls a second: our fold, a plain sum over the same bytes, which is as fast as they can be read at all,
 * and what other profilers do for each row: find its kernel in a tree, lock, and update a hash table.
 */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "ratio.h"
#include "xe-eustall/fold.h"

/* The most that one read() returns on a B580: 20 Xe-cores with 512 KiB each. */
#define ROWS (20 * 8192)
/* Many short turns: of long ones, none may be free of what other programs do to the caches. */
#define PASSES 5
#define ROUNDS 60
#define PEER_ROUNDS 12
#define KERNEL_SIZE 4096u
#define BUCKETS (1u << 17)
#define GOAL_ROWS 100e6

static void check(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "bench_eu_stall: %s\n", what);
		exit(EXIT_FAILURE);
	}
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static void bits_set(unsigned char *row, unsigned first, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++)
		if (value >> i & 1)
			row[(first + i) / 8] |= (unsigned char)(1u << (first + i) % 8);
}

static uint64_t bits_get(const unsigned char *row, unsigned first, unsigned width)
{
	uint64_t value;
	memcpy(&value, row + first / 8, sizeof value);
	return value >> first % 8 & ((UINT64_C(1) << width) - 1);
}

/* Rows as a GPU writes them: any of the addresses, a few samples each, for one or two reasons. */
static unsigned char *rows_make(const struct row_layout *layout, uint32_t address_count)
{
	unsigned char *rows = aligned_alloc(4096, (size_t)ROWS * ROW_SIZE);
	uint64_t state = 88172645463325252u;
	check(rows != NULL, "out of memory");
	memset(rows, 0, (size_t)ROWS * ROW_SIZE);
	for (size_t i = 0; i < ROWS; i++) {
		unsigned char *row = rows + i * ROW_SIZE;
		uint64_t number = random_next(&state);
		/* Instructions are 16 bytes, two units of the address. */
		bits_set(row, 0, layout->address_bits, 0x10000 + 2 * (number % address_count));
		for (unsigned k = 0; k < 2; k++) {
			unsigned counter = (unsigned)(number >> (32 + 8 * k)) % 9;
			bits_set(row, layout->address_bits + 8 * counter, 5, 1 + (number >> (40 + 8 * k)) % 30);
		}
	}
	return rows;
}

static double rate_of(const struct rounds *rounds, const char *what)
{
	double millions = (double)ROWS * PASSES / 1e6;
	rounds_print(rounds, what, millions, "million rows");
	return millions * 1e6 / rounds->fastest;
}

static void sum_round(const unsigned char *rows, struct rounds *rounds)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned pass = 0; pass < PASSES; pass++) {
		const uint64_t *words = (const void *)rows;
		uint64_t sums[4] = { 0 };
		for (size_t i = 0; i < (size_t)ROWS * ROW_SIZE / 8; i += 4)
			for (unsigned k = 0; k < 4; k++)
				sums[k] += words[i + k];
		__asm__ volatile("" ::"r"(sums) : "memory");
	}
	rounds_add(rounds, cpu_seconds_since(begin));
}

/* The samples of all rows of one pass, counted one by one. */
static uint64_t samples_expected(const unsigned char *rows, const struct row_layout *layout)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < ROWS; i++)
		for (unsigned k = 0; k < layout->counter_count; k++)
			samples += bits_get(rows + i * ROW_SIZE, layout->address_bits + 8 * k, 8);
	return samples;
}

static uint64_t fold_take(struct fold *fold)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < fold->count; i++) {
		uint64_t address, sums[STALL_REASON_COUNT];
		fold_get(fold, i, &address, sums);
		for (unsigned k = 0; k < STALL_REASON_COUNT; k++)
			samples += sums[k];
	}
	fold_clear(fold);
	return samples;
}

/*
 * An interval is all passes: what a flush costs is in it. The plain sum has its turns between those of the fold, so
 * that other work of the machine slows both. Returns the fold's rate; *share: of the rate of the plain sum.
 */
static double measure_fold(const unsigned char *rows, const struct row_layout *layout, const char *what, double *share)
{
	struct rounds rounds = { 0 }, sums = { 0 };
	struct fold fold;
	uint64_t samples = 0, expected = samples_expected(rows, layout) * PASSES * ROUNDS;
	check(!fold_init(&fold, layout, FOLD_SLOTS_MAX), "out of memory");
	for (unsigned round = 0; round < ROUNDS; round++) {
		sum_round(rows, &sums);
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned pass = 0; pass < PASSES; pass++)
			check(fold_rows(&fold, rows, ROWS, 1) == ROWS, "the fold is full");
		samples += fold_take(&fold);
		rounds_add(&rounds, cpu_seconds_since(begin));
	}
	check(samples == expected, "the fold lost samples");
	fold_free(&fold);
	*share = sums.fastest / rounds.fastest;
	rate_of(&sums, "eu_stall: plain sum of the bytes");
	return rate_of(&rounds, what);
}

/* What the others do. */
struct kernel {
	uint64_t begin, end;
};
struct counted {
	struct counted *next;
	uint64_t address;
	const struct kernel *kernel;
	uint64_t counts[STALL_REASON_COUNT];
};
struct peer {
	void *kernels; /* a tree */
	pthread_mutex_t lock;
	struct counted *buckets[BUCKETS];
};

static int kernel_compare(const void *left, const void *right)
{
	const struct kernel *a = left, *b = right;
	return a->end <= b->begin ? -1 : a->begin >= b->end ? 1 : 0;
}

static void peer_add(struct peer *peer, const unsigned char *row, const struct row_layout *layout)
{
	uint64_t address = bits_get(row, 0, layout->address_bits) << 3;
	struct kernel wanted = { address, address + 1 };
	pthread_mutex_lock(&peer->lock);
	void *found = tfind(&wanted, &peer->kernels, kernel_compare);
	const struct kernel *kernel = found ? *(struct kernel **)found : NULL;
	struct counted **at = &peer->buckets[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 47];
	while (*at && ((*at)->address != address || (*at)->kernel != kernel))
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof **at);
		check(*at != NULL, "out of memory");
		(*at)->address = address;
		(*at)->kernel = kernel;
	}
	for (unsigned k = 0; k < layout->counter_count; k++)
		(*at)->counts[layout->reasons[k]] += bits_get(row, layout->address_bits + 8 * k, 8);
	pthread_mutex_unlock(&peer->lock);
}

static double measure_peer(const unsigned char *rows, const struct row_layout *layout, uint32_t address_count,
			   const char *what)
{
	static struct peer peer = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct rounds rounds = { 0 };
	for (uint64_t offset = 0; offset < address_count * UINT64_C(16); offset += KERNEL_SIZE) {
		struct kernel *kernel = malloc(sizeof *kernel);
		check(kernel != NULL, "out of memory");
		*kernel = (struct kernel){ 0x80000 + offset, 0x80000 + offset + KERNEL_SIZE };
		void *node = tsearch(kernel, &peer.kernels, kernel_compare);
		check(node != NULL, "out of memory");
		if (*(struct kernel **)node != kernel)
			free(kernel);
	}
	for (unsigned round = 0; round < PEER_ROUNDS; round++) {
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned pass = 0; pass < PASSES; pass++)
			for (size_t i = 0; i < ROWS; i++)
				peer_add(&peer, rows + i * ROW_SIZE, layout);
		rounds_add(&rounds, cpu_seconds_since(begin));
	}
	return rate_of(&rounds, what);
}

int main(void)
{
	static const struct row_layout *const layouts[] = { &row_layout_pvc, &row_layout_xe2, &row_layout_xe3p };
	/* Of the plain sum. 100,000 addresses exceed the CPU's second-level cache. */
	static const double goal_shares[] = { 0.5, 0.5, 0.2 };
	static const uint32_t address_counts[] = { 10, 1000, 100000 };
	for (size_t i = 0; i < sizeof address_counts / sizeof *address_counts; i++)
		for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
			char what[64];
			unsigned char *rows = rows_make(layouts[k], address_counts[i]);
			double share;
			snprintf(what, sizeof what, "eu_stall: fold, %s, %u addresses", layouts[k]->name,
				 address_counts[i]);
			double ours = measure_fold(rows, layouts[k], what, &share);
			snprintf(what, sizeof what, "eu_stall: tree, lock, hash, %u addresses", address_counts[i]);
			double peer = layouts[k] == &row_layout_xe2
					      ? measure_peer(rows, layouts[k], address_counts[i], what)
					      : 0;
			printf("eu_stall: %.2f times the goal of %.0f million rows/s; %.2f of the plain sum (goal "
			       "%.1f)\n",
			       ours / GOAL_ROWS, GOAL_ROWS / 1e6, share, goal_shares[i]);
			if (peer > 0)
				printf("eu_stall: %.1f times as fast as a tree, a lock and a hash table\n",
				       ours / peer);
			free(rows);
		}
	return EXIT_SUCCESS;
}
