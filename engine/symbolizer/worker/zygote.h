/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main process of a worker: creates a child for each file, and ends those that iaprof gives up. It reads no data of
 * other users.
 */
#pragma once

/*
 * Gives up all privileges (confinement.h), then answers iaprof until it closes the channel. serve: what a child does
 * with its socket; returns 0 after iaprof closed it.
 */
_Noreturn void zygote_run(int (*serve)(void *context, int socket), void *context);
