/* SPDX-License-Identifier: Apache-2.0 */
#include "base/boot_id.h"

#include "base/machine.h"

void boot_id_read(char text[BOOT_ID_SIZE])
{
	line_read("/proc/sys/kernel/random/boot_id", text, BOOT_ID_SIZE);
}
