/* SPDX-License-Identifier: Apache-2.0 */
/* The large ranges of addresses that drivers have reserved: their heaps of code begin there. */
#ifndef RESERVATIONS_H
#define RESERVATIONS_H

#include <stdio.h>

/* Prints a line of words between tabs for each, oldest first: "reservation" PID START SIZE. */
void reservations_print(FILE *file);

#endif
