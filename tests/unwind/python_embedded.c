/* SPDX-License-Identifier: Apache-2.0 */
/* A program that contains the interpreter: python_embedded SOURCES runs python_places.py. */
#include <Python.h>

__attribute__((noinline)) static int run_inside(char **arguments)
{
	char text[4096];
	snprintf(text, sizeof text,
		 "import sys; sys.argv = ['', 'plain']; sys.path[:0] = ['%s']; import python_places; "
		 "python_places.main()",
		 arguments[1]);
	int result = PyRun_SimpleString(text);
	__asm__ volatile("" ::: "memory");
	return result;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	Py_Initialize();
	return run_inside(argv) ? 1 : 0;
}
