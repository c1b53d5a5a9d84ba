/* SPDX-License-Identifier: Apache-2.0 */
/* The random name that Linux gives to each boot of a machine (Documentation/admin-guide/sysctl/kernel.rst, random). */
#ifndef IAPROF_CORE_BASE_BOOT_ID_H
#define IAPROF_CORE_BASE_BOOT_ID_H

/* A UUID as text, and its NUL. */
#define BOOT_ID_SIZE 37

/* Fills in the text; empty when it cannot be read. */
void boot_id_read(char text[BOOT_ID_SIZE]);

#endif
