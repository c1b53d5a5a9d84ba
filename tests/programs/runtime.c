/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is nothing but a file: tests give it the names of runtimes. */
int runtime_nothing(void);
int runtime_nothing(void)
{
	return 0;
}
