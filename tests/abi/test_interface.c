/* SPDX-License-Identifier: Apache-2.0 */
/* No member of a public struct has moved, and no public number has changed, since the first release. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <iaprof/plugin.h>

static int check(const char *what, long long now, long long released, int may_grow)
{
	if (now == released || (may_grow && now > released))
		return 0;
	printf("# %s is %lld, and was released as %lld\n", what, now, released);
	return 1;
}

static int check_all(void)
{
	int wrong = 0;
#define STRUCT(name, size) wrong += check("sizeof(struct " #name ")", (long long)sizeof(struct name), size, 1);
#define MEMBER(name, member, offset)                                                                                   \
	wrong += check(#name "." #member, (long long)offsetof(struct name, member), offset, 0);
#define VALUE(name, value) wrong += check(#name, (long long)name, value, 0);
#include "interface_1.h"
	return wrong;
}

int main(void)
{
	if (sizeof(void *) != 8) {
		printf("1..0 # SKIP the numbers are those of 64-bit machines\n");
		return EXIT_SUCCESS;
	}
	int wrong = check_all();
	printf("%sok 1 - structs and numbers are those of release 0.1\n1..1\n", wrong ? "not " : "");
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
