/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assistant's Python module that runs kernels on the GPU, through Level Zero:
 *
 *     load(path)    loads a native module; returns (name, device address, work-items) of each kernel
 *     launch(name)  appends a launch to the command list
 *     close()       closes the list
 *     execute()     executes the list, and waits for its end
 *
 * Errors end the program with one line. Nothing executes on a GPU, all else is real.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../level_zero/calls.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1024
#define TIMEOUT UINT64_C(60000000000) /* ns */
#define BUFFER_SIZE (1u << 16)

enum kernel_id { RMS_NORM, ATTENTION_SCORES, SOFTMAX, FEED_FORWARD, BIAS_GELU, KERNEL_COUNT };

static const struct {
	const char *name;
	unsigned buffers; /* arguments: pointers, then the width */
	uint32_t group_x, group_y, groups;
} kernels[KERNEL_COUNT] = {
	[RMS_NORM] = { "rms_norm", 3, 64, 1, 768 },    [ATTENTION_SCORES] = { "attention_scores", 3, 64, 1, 3072 },
	[SOFTMAX] = { "softmax", 1, 64, 1, 400 },      [FEED_FORWARD] = { "feed_forward", 3, 16, 16, WIDTH / 16 },
	[BIAS_GELU] = { "bias_gelu", 2, 64, 1, 4096 },
};

static struct {
	struct level_zero calls;
	ze_context_handle_t context;
	ze_device_handle_t device;
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list; /* of one token */
	ze_kernel_handle_t kernels[KERNEL_COUNT];
	void *buffer;
} gpu;

static void *read_module(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	void *data = malloc(1u << 20);

	if (!file || !data || !(*size = fread(data, 1, 1u << 20, file)))
		fail("%s: cannot be read: build it with tests/lab/level_zero/build", path);
	fclose(file);
	return data;
}

static void load_kernel(ze_module_handle_t module, enum kernel_id id)
{
	const struct level_zero *calls = &gpu.calls;
	const char *name = kernels[id].name;
	const int width = WIDTH;
	ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };

	CALL(calls, zeKernelCreate, name, module, &description, &gpu.kernels[id]);
	CALL(calls, zeKernelSetGroupSize, name, gpu.kernels[id], kernels[id].group_x, kernels[id].group_y, 1);
	for (unsigned i = 0; i < kernels[id].buffers; i++)
		CALL(calls, zeKernelSetArgumentValue, name, gpu.kernels[id], i, sizeof gpu.buffer, &gpu.buffer);
	CALL(calls, zeKernelSetArgumentValue, name, gpu.kernels[id], kernels[id].buffers, sizeof width, &width);
}

/* Returns the list of kernels, with their addresses on the device. */
static PyObject *load_model(const char *path)
{
	const struct level_zero *calls = &gpu.calls;
	ze_driver_handle_t driver;
	uint32_t count = 1;

	calls_load(&gpu.calls);
	CALL(calls, zeInit, "GPUs", ZE_INIT_FLAG_GPU_ONLY);
	CALL(calls, zeDriverGet, "the first driver", &count, &driver);
	CALL(calls, zeDeviceGet, "the first device", driver, &count, &gpu.device);
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	CALL(calls, zeContextCreate, "the context", driver, &context, &gpu.context);
	ze_device_mem_alloc_desc_t on_device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	CALL(calls, zeMemAllocDevice, "a buffer", gpu.context, &on_device, BUFFER_SIZE, 64, gpu.device, &gpu.buffer);
	ze_module_desc_t description = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE };
	void *data = read_module(path, &description.inputSize);
	description.pInputModule = data;
	ze_module_handle_t module;
	CALL(calls, zeModuleCreate, path, gpu.context, gpu.device, &description, &module, NULL);
	free(data);
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	CALL(calls, zeCommandQueueCreate, "a queue", gpu.context, gpu.device, &queue, &gpu.queue);
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	CALL(calls, zeCommandListCreate, "a command list", gpu.context, gpu.device, &list, &gpu.list);
	ze_result_t (*base_address)(ze_kernel_handle_t, uint64_t *);
	CALL(calls, zeDriverGetExtensionFunctionAddress, "zexKernelGetBaseAddress", driver, "zexKernelGetBaseAddress",
	     (void **)&base_address);
	PyObject *found = PyList_New(KERNEL_COUNT);
	for (enum kernel_id id = 0; found && id < KERNEL_COUNT; id++) {
		uint64_t address;
		load_kernel(module, id);
		call_check(base_address(gpu.kernels[id], &address), "zexKernelGetBaseAddress", kernels[id].name);
		PyList_SET_ITEM(found, id,
				Py_BuildValue("sKI", kernels[id].name, (unsigned long long)address,
					      kernels[id].groups * kernels[id].group_x * kernels[id].group_y));
	}
	return found;
}

static PyObject *gpu_load(PyObject *module, PyObject *arguments)
{
	const char *path;

	(void)module;
	return PyArg_ParseTuple(arguments, "s", &path) ? load_model(path) : NULL;
}

static PyObject *gpu_launch(PyObject *module, PyObject *arguments)
{
	const char *name;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "s", &name))
		return NULL;
	for (enum kernel_id id = 0; id < KERNEL_COUNT; id++) {
		if (strcmp(kernels[id].name, name) != 0)
			continue;
		CALL(&gpu.calls, zeCommandListAppendLaunchKernel, name, gpu.list, gpu.kernels[id],
		     &(ze_group_count_t){ kernels[id].groups, 1, 1 }, NULL, 0, NULL);
		Py_RETURN_NONE;
	}
	return PyErr_Format(PyExc_ValueError, "there is no kernel %s", name);
}

static PyObject *gpu_close(PyObject *module, PyObject *arguments)
{
	(void)module, (void)arguments;
	CALL(&gpu.calls, zeCommandListClose, "the list of launches", gpu.list);
	Py_RETURN_NONE;
}

static PyObject *gpu_execute(PyObject *module, PyObject *arguments)
{
	(void)module, (void)arguments;
	CALL(&gpu.calls, zeCommandQueueExecuteCommandLists, "a token", gpu.queue, 1, &gpu.list, NULL);
	CALL(&gpu.calls, zeCommandQueueSynchronize, "a token", gpu.queue, TIMEOUT);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "load", gpu_load, METH_VARARGS, "Loads a native module; returns its kernels." },
	{ "launch", gpu_launch, METH_VARARGS, "Appends a launch to the command list." },
	{ "close", gpu_close, METH_NOARGS, "Closes the command list." },
	{ "execute", gpu_execute, METH_NOARGS, "Executes the command list, and waits for its end." },
	{ 0 },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, .m_name = "gpu", .m_doc = "Runs kernels on a GPU.", .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit_gpu(void)
{
	return PyModule_Create(&definition);
}
