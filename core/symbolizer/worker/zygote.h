/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of a worker: makes children, one for each file, and ends those that iaprof gave up. It reads nothing that
 * others wrote.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_WORKER_ZYGOTE_H
#define IAPROF_CORE_SYMBOLIZER_WORKER_ZYGOTE_H

/*
 * Gives up all rights (confinement.h), then answers iaprof until it closes the channel. serve: what a child does with
 * its socket, returns 0 when iaprof closed it.
 */
_Noreturn void zygote_run(int (*serve)(void *context, int socket), void *context);

#endif
