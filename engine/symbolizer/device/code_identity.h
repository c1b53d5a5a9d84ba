/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies an image of device code: its size and a 128-bit hash of its bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"

struct code_identity {
	uint64_t size, hashes[2];
};

/* Limit on an image's size; the largest libraries of GPU code are about 200 MiB for one product. */
#define CODE_OBJECT_SIZE_MAX ((size_t)512 << 20)

static inline struct code_identity code_identity_make(const void *bytes, size_t size)
{
	struct code_identity identity = { .size = size };
	hash_fingerprint(bytes, size, identity.hashes);
	return identity;
}
