/* SPDX-License-Identifier: Apache-2.0 */
/* The random UUID of each boot of a machine (Documentation/admin-guide/sysctl/kernel.rst, random). */
#pragma once

/* A UUID as text, NUL-terminated. */
#define BOOT_ID_SIZE 37

/* Reads the UUID of the current boot; sets an empty text if it cannot be read. */
void boot_id_read(char text[BOOT_ID_SIZE]);
