/* SPDX-License-Identifier: Apache-2.0 */
/* A C extension that calls back, without frame pointers. */
#include <Python.h>

__attribute__((noinline)) static PyObject *native_inner(PyObject *function)
{
	PyObject *result = PyObject_CallObject(function, NULL);
	__asm__ volatile("" ::: "memory");
	return result;
}

static PyObject *call(PyObject *self, PyObject *function)
{
	PyObject *result = native_inner(function);
	__asm__ volatile("" ::: "memory");
	return result;
}

static PyMethodDef methods[] = { { "call", call, METH_O, NULL }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "python_callback", NULL, -1, methods };

PyMODINIT_FUNC PyInit_python_callback(void)
{
	return PyModule_Create(&module);
}
