/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of iaprof itself while records flow. */
#ifndef IAPROF_CORE_RUN_RIGHTS_H
#define IAPROF_CORE_RUN_RIGHTS_H

/*
 * Gives up, for good, every capability that no source, output or helper process needs once prepare() is over, and the
 * way to get any by executing a file (no_new_privs). Before the first thread is made: threads have rights of their own.
 * The user's command has been forked by then, and keeps the user's rights.
 */
void rights_reduce(void);

#endif
