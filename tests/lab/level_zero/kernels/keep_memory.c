/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into the compiler: memory is never freed. The compiler (IGC 2.40) reads names of symbols after it freed
 * them when a module has several kernels; then relocations of the debug information name nothing, at random, and the
 * lines of some kernels get no address. With this it writes what it means to, the same bytes each time.
 */
void free(void *memory)
{
	(void)memory;
}
