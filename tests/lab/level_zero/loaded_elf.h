/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ELF file of a loaded module: where its code is in the device's memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The range of all sections of instructions. Addresses are as the hardware knows them: bits 63:48 are cleared. */
bool loaded_elf_code(const uint8_t *data, size_t size, uint64_t *address, uint64_t *length);

bool loaded_elf_function(const uint8_t *data, size_t size, const char *name, uint64_t *address, uint64_t *length);
