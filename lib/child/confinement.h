/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes all privileges from a process that parses other users' files, in two steps: the worker gives up its user,
 * capabilities and access to files once; each of its children then gives up what is needed to create processes.
 */
#pragma once

#include <stdint.h>

/*
 * Leaves no user id of root or of another user, no capability, no_new_privs, no core file, no new file of any size, and
 * only the system calls that the worker needs: all others fail with EPERM. Returns 0 or a negative errno.
 */
int confinement_enter(void);
/* Creates the argument of confinement_tighten(), once for all children; NULL if out of memory. */
void *confinement_prepare(void);
/*
 * In a child: limits memory to data_limit bytes (UINT64_MAX or with sanitizers: no limit), and forbids system calls
 * that create, signal or limit processes. Returns 0 or a negative errno.
 */
int confinement_tighten(void *prepared, uint64_t data_limit);
