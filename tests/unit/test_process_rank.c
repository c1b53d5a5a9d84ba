/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in the environments of mpirun, srun and torchrun. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "process/process_rank.h"
#include "../run_suite.h"

#define NONE (-1)

/* Each variable ends with a NUL. */
static const struct {
	const char *environment;
	size_t length;
	int rank;
} cases[] = {
#define CASE(text, rank)                                                                                               \
	{                                                                                                              \
		text, sizeof text, rank                                                                                \
	}
	CASE("", NONE),
	CASE("HOME=/\0PATH=/bin", NONE),
	CASE("OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_RANK=3", 3),
	CASE("PMI_RANK=0\0PMI_SIZE=2", 0),
	CASE("PMIX_RANK=7", 7),
	CASE("SLURM_NTASKS=8\0SLURM_PROCID=5", 5),
	CASE("RANK=12\0LOCAL_RANK=4\0WORLD_SIZE=16", 12),
	CASE("LOCAL_RANK=1\0WORLD_SIZE=16", 1),
	/* torchrun below mpirun below srun */
	CASE("SLURM_PROCID=0\0SLURM_NTASKS=2\0OMPI_COMM_WORLD_RANK=1\0RANK=9\0WORLD_SIZE=16", 9),
	CASE("SLURM_PROCID=0\0SLURM_NTASKS=2\0OMPI_COMM_WORLD_RANK=1", 1),
	/* not a rank */
	CASE("RANK=3", NONE),
	CASE("LOCAL_RANK=3", NONE),
	CASE("RANK=admiral\0WORLD_SIZE=2", NONE),
	CASE("MY_PMI_RANK=1", NONE),
	CASE("PMI_RANKS=1", NONE),
	CASE("PMI_RANK=", NONE),
	CASE("PMI_RANK=-1", NONE),
	CASE("PMI_RANK=1x", NONE),
	CASE("PMI_RANK=2147483648", NONE),
	CASE("PMI_RANK=99999999999999999999999", NONE),
	/* a program of one process, and one that contradicts itself */
	CASE("RANK=0\0WORLD_SIZE=1", NONE),
	CASE("SLURM_PROCID=0\0SLURM_NTASKS=1", NONE),
	CASE("PMI_RANK=2\0PMI_SIZE=2", NONE),
#undef CASE
	/* cut off */
	{ "PMI_RANK=31", 10, 3 },
	{ "PMI_RANK=31", 9, NONE },
	{ NULL, 0, NONE },
};

TEST_LOOP(a_rank_is_found_where_it_is, 0, sizeof cases / sizeof *cases)
{
	uint32_t rank = 0;
	/* In memory that ends there, so that a sanitizer notices. */
	char *environment = malloc(cases[_i].length + !cases[_i].length);

	ck_assert_ptr_nonnull(environment);
	if (cases[_i].length)
		memcpy(environment, cases[_i].environment, cases[_i].length);
	bool found = process_rank_find(environment, cases[_i].length, &rank);
	ck_assert_int_eq(found ? (int)rank : NONE, cases[_i].rank);
	free(environment);
}

TEST(a_name_has_its_rank)
{
	char text[15 + PROCESS_RANK_SUFFIX_SIZE];

	process_rank_name(text, sizeof text, "train.py", 5, 3);
	ck_assert_str_eq(text, "train (rank 3)");
	ck_assert_str_eq(process_rank_suffix(text), " (rank 3)");
	process_rank_name(text, sizeof text, "123456789012345", 15, 2147483647);
	ck_assert_str_eq(text, "123456789012345 (rank 2147483647)");
	ck_assert_str_eq(process_rank_suffix(text), " (rank 2147483647)");
}

TEST(other_names_have_none)
{
	static const char *const names[] = {
		"",          "python3",    "(rank 3)",   "a(rank 3)",          "a (rank 3", "a (rank 3) ",
		"a (rank )", "a (rank x)", "a (Rank 3)", "a (rank 2147483648)"
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ck_assert_msg(!process_rank_suffix(names[i]), "%s", names[i]);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
