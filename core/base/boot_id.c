/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the boot's name: see boot_id.h. */
#include "base/boot_id.h"

#include <string.h>

#include "base/cleanup.h"

void boot_id_read(char text[BOOT_ID_SIZE])
{
	CLEANUP_FCLOSE FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(text, BOOT_ID_SIZE, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}
