/* SPDX-License-Identifier: Apache-2.0 */
/* Names that compilers give functions which they leave in GPU kernels. */
#include <check.h>
#include <string.h>

#include "symbolizer/device/compiler_names.h"
#include "../run_suite.h"

TEST(functions_in_kernels_have_their_own_name)
{
	static const struct {
		const char *symbol, *name;
	} cases[] = {
		{ "_Z6taylorfi", "_Z6taylorfi" },
		{ "$_Z8exp_loopPfi$_Z6taylorfi", "_Z6taylorfi" },
		{ "$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath",
		  "[division: __cuda_sm3x_div_rn_noftz_f32_slowpath]" },
		{ "$__internal_12_$__cuda_sm20_rem_u64", "[remainder: __cuda_sm20_rem_u64]" },
		{ "$__internal_1_$__cuda_sm20_dsqrt_rn_f64_mediumpath_v1",
		  "[square root: __cuda_sm20_dsqrt_rn_f64_mediumpath_v1]" },
		{ "$__internal_3_$__cuda_sm70_warpsync", "__cuda_sm70_warpsync" },
		{ "__cuda_sm20_div_u64", "__cuda_sm20_div_u64" },
		{ "$", "$" },
		{ "$$", "$$" },
		{ "$kernel$", "$kernel$" },
		{ "", "" },
	};
	char text[COMPILER_NAME_SIZE];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_str_eq(compiler_name(cases[i].symbol, text), cases[i].name);
}

TEST(long_names_are_cut)
{
	char symbol[1024] = "$a$__cuda_sm3x_div_", text[COMPILER_NAME_SIZE];
	memset(symbol + strlen(symbol), 'x', sizeof symbol - strlen(symbol) - 1);
	const char *name = compiler_name(symbol, text);
	ck_assert_ptr_eq(name, text);
	ck_assert_uint_eq(strlen(name), strlen("[division: ]") + 200);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
