/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's work: opens one file, with the rights of one user, if it is one to read. */
#ifndef IAPROF_CORE_BROKER_FILE_OPEN_H
#define IAPROF_CORE_BROKER_FILE_OPEN_H

#include "broker/broker_message.h"

/* root: O_PATH descriptor, -1 our own. Returns a descriptor, or a negative errno as broker_open() does. */
int file_open(const struct broker_open *request, int root, const char *path, struct file_identity *identity);

#endif
