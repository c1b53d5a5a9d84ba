/* SPDX-License-Identifier: Apache-2.0 */
/* Opens one file with the permissions of a user, if it is suitable to be read. */
#pragma once

#include "broker/broker_message.h"

/* root: O_PATH descriptor, or -1 for iaprof's own. Returns a descriptor, or a negative errno as broker_open(). */
int file_open(const struct broker_open *request, int root, const char *path, struct file_identity *identity);
/* Identifies the file of a mapping without opening it or asking a file server. inode 0: there is none. */
void file_identify_mapped(uint32_t pid, const struct broker_range *range, struct file_identity *identity);
