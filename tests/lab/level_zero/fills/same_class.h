/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a driver that no interface hands out, as the kernels inside it: they are of the same class as others,
 * whose first words, the addresses of tables in the driver's file, are the same.
 */
#ifndef SAME_CLASS_H
#define SAME_CLASS_H

/*
 * Calls visit() for each object of the class of two others, which is that of both, anywhere in the process's memory.
 * driver: what the name of the driver's file contains. Exits if there is no such table.
 */
void same_class_find(const void *first, const void *second, const char *driver, void (*visit)(void *object));

#endif
