/* SPDX-License-Identifier: Apache-2.0 */
/* write_stacks PLUGIN ARGUMENT SHAPE STACKS OUTPUT: a sink's file of a profile of so many stacks: cpu, threads or gpu.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink_profile.h"

int main(int argc, char **argv)
{
	unsigned long stacks = argc == 6 ? strtoul(argv[4], NULL, 10) : 0;
	if (!stacks || stacks > 10000000) {
		fprintf(stderr, "usage: write_stacks PLUGIN ARGUMENT cpu|threads|gpu STACKS OUTPUT\n");
		return 2;
	}
	struct sink_profile profile;
	enum sink_profile_shape shape = strcmp(argv[3], "gpu") == 0       ? SINK_PROFILE_GPU
					: strcmp(argv[3], "threads") == 0 ? SINK_PROFILE_THREADS
									  : SINK_PROFILE_CPU;
	sink_profile_make(&profile, shape, (uint32_t)stacks);
	printf("%.3f\n", sink_write_seconds(argv[1], argv[2], argv[5], &profile));
	sink_profile_free(&profile);
	return EXIT_SUCCESS;
}
