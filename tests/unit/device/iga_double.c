/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libiga64: its text is the first two bytes of the instruction, where a target stands for all operands.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int iga_context_create(const void *options, void **context);
EXPORT int iga_context_release(void *context);
EXPORT int iga_context_disassemble_instruction(void *context, const void *options, const unsigned char *bytes,
					       const char *(*label)(int32_t, void *), void *user, char **text);

int iga_context_create(const void *options, void **context)
{
	*context = malloc(64);
	return !*context;
}

int iga_context_release(void *context)
{
	free(context);
	return 0;
}

int iga_context_disassemble_instruction(void *context, const void *options, const unsigned char *bytes,
					const char *(*label)(int32_t, void *), void *user, char **text)
{
	snprintf(context, 64, "%02x   %02x  %s", bytes[0], bytes[1], label(0, user));
	*text = context;
	return 0;
}
