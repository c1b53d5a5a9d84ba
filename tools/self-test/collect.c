/* SPDX-License-Identifier: Apache-2.0 */
/* See collect.h. */
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "collect.h"
#include "observations.h"

int collect(const struct collect_setup *setup, FILE *output)
{
	struct utsname machine = { 0 };

	uname(&machine);
	fprintf(output, "iaprof-self-test %d\nversion %s\nlinux %.60s\n", OBSERVATIONS_VERSION, IAPROF_VERSION,
		machine.release);
	if (collect_rows(setup, output))
		collect_profile(setup, output);
	return fflush(output) || ferror(output) ? -EIO : 0;
}
