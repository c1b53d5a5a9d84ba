/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the image that a driver gives the tracer of a module, and as the code that it gives of a kernel. */
#include <stdint.h>
#include <stdlib.h>

#include "ze-usdt/tracer/device_binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct image_function *functions, *again;
	size_t count = image_functions(bytes, size, &functions), made_size;

	for (size_t i = 0; i < count; i++)
		if (functions[i].size == 0 || (i > 0 && functions[i].address < functions[i - 1].address) ||
		    image_function_size(functions, count, functions[i].address) == 0)
			abort();
	free(functions);
	/* What is made of any code has one function, whose size is the code's. */
	size_t code_size = image_code_size(bytes, size);
	uint8_t *made = code_size ? image_make("kernel", 0x1000, bytes, code_size, &made_size) : NULL;
	if (made && (image_functions(made, made_size, &again) != 1 || again[0].size != code_size))
		abort();
	if (made)
		free(again);
	free(made);
	return 0;
}
