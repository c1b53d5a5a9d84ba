/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling, against c++filt and names from the ABI documents; names that are hostile. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/demangle.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

TEST(fixture_names_are_what_cplusfilt_says)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_cpp.so");
	fixture_symbol_array symbols = fixture_symbols("-nS --defined-only", path);
	size_t compared = 0;
	char text[DEMANGLE_LENGTH_MAX + 1];
	for (size_t i = 0; i < symbols.count; i++) {
		const char *name = symbols.items[i].name;
		/* c++filt keeps the hash of a legacy Rust name, and says that the name of a type is one. */
		if (strncmp(name, "_Z", 2) != 0 || strchr(name, '@') || strstr(name, "17h") ||
		    strncmp(name, "_ZTS", 4) == 0)
			continue;
		CLEANUP_FREE char *wanted = command_line_output("c++filt -p '%s'", name);
		ck_assert_uint_eq(demangle(name, text), strlen(wanted));
		ck_assert_str_eq(text, wanted);
		compared++;
	}
	ck_assert_uint_ge(compared, 10);
	fixture_symbols_free(&symbols);
}

/* From the Itanium C++ ABI, and from the Rust reference with RFC 2603. */
static const struct {
	const char *mangled, *name;
} names[] = {
	{ "_ZN3foo3barEv", "foo::bar" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back" },
	{ "_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden" },
	{ "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str" },
	{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	  "<Test + 'static as foo::Bar<Test>>::bar" },
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_ZN3foo3barEv@plt", "foo::bar@plt" },
	{ "_ZTS5scaleIfE", "scale<float>" }, /* kernels that compilers of SYCL name by a type */
	{ "_ZTSN3foo3barISt6vectorIiSaIiEEEE", "foo::bar<std::vector<int, std::allocator<int> > >" },
	{ "_ZTI5scaleIfE", "typeinfo for scale<float>" },
	{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
};

TEST_LOOP(names_of_the_documents, 0, sizeof names / sizeof *names)
{
	char text[DEMANGLE_LENGTH_MAX + 1];
	ck_assert_uint_eq(demangle(names[_i].mangled, text), strlen(names[_i].name));
	ck_assert_str_eq(text, names[_i].name);
}

static const char *const plain_names[] = { "", "_", "_Z", "_R", "_ZN", "main", "_start", "Zebra", "_ZTi", "_Rx\x80" };

TEST_LOOP(plain_names_stay, 0, sizeof plain_names / sizeof *plain_names)
{
	char text[DEMANGLE_LENGTH_MAX + 1];
	ck_assert_uint_eq(demangle(plain_names[_i], text), 0);
}

TEST(a_name_as_long_as_templates_make_them)
{
	/* f<A<A<...<int>...>>, longer than the library's own limit of 1,024. */
	char mangled[4096] = "_Z1fI", wanted[8192] = "f<", text[DEMANGLE_LENGTH_MAX + 1];
	for (int i = 0; i < 400; i++) {
		strcat(mangled, "1AI");
		strcat(wanted, "A<");
	}
	strcat(mangled, "i");
	strcat(wanted, "int");
	for (int i = 0; i < 401; i++) {
		strcat(mangled, "E");
		strcat(wanted, i ? " >" : ">");
	}
	strcat(mangled, "vv");
	ck_assert_uint_gt(strlen(mangled), 1024);
	ck_assert_uint_eq(demangle(mangled, text), strlen(wanted));
	ck_assert_str_eq(text, wanted);
}

TEST(a_name_that_stands_for_an_endless_one_stays)
{
	/* Each P<S, S> doubles the output: 2^60 bytes. */
	char mangled[1024] = "_Z1fI1AIiiE", text[DEMANGLE_LENGTH_MAX + 1];
	for (int i = 0; i < 60; i++)
		sprintf(mangled + strlen(mangled), "1BIS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	strcat(mangled, "Evv");
	demangle(mangled, text);
	char deep[5000] = "_Z1f";
	memset(deep + 4, 'P', 4000);
	strcat(deep, "i");
	demangle(deep, text);
	char longest[20000] = "_Z";
	memset(longest + 2, 'N', 15000);
	ck_assert_uint_eq(demangle(longest, text), 0);
	char rust[5000] = "_R";
	memset(rust + 2, 'I', 4000);
	ck_assert_uint_eq(demangle(rust, text), 0);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
