/* SPDX-License-Identifier: Apache-2.0 */
/* Compares cupti.h with NVIDIA's headers: compiled by make where they are installed, and part of nothing. */
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

#include "copy_calls.h"
#include "cupti.h"

#define SAME_SIZE(OURS, THEIRS) _Static_assert(sizeof(struct OURS) == sizeof(THEIRS), #THEIRS)
#define SAME(OURS, OURS_MEMBER, THEIRS, THEIRS_MEMBER)                                                                 \
	_Static_assert(offsetof(struct OURS, OURS_MEMBER) == offsetof(THEIRS, THEIRS_MEMBER),                          \
		       #THEIRS "." #THEIRS_MEMBER)

SAME_SIZE(cupti_callback_data, CUpti_CallbackData);
SAME(cupti_callback_data, site, CUpti_CallbackData, callbackSite);
SAME(cupti_callback_data, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_callback_data, context, CUpti_CallbackData, context);
SAME(cupti_resource_data, context, CUpti_ResourceData, context);
SAME(cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_module_data, size, CUpti_ModuleResourceData, cubinSize);
SAME(cupti_module_data, cubin, CUpti_ModuleResourceData, pCubin);
SAME_SIZE(cupti_graph_data, CUpti_GraphData);
SAME(cupti_graph_data, node, CUpti_GraphData, node);
SAME(cupti_graph_data, original_node, CUpti_GraphData, originalNode);
SAME(cupti_graph_data, node_type, CUpti_GraphData, nodeType);
SAME(cupti_callback_data, parameters, CUpti_CallbackData, functionParams);
SAME(cupti_memory_call, count, cuMemsetD8_v2_params, N);
SAME(cupti_memory_call, count, cuMemsetD8Async_params, N);
SAME(cupti_memory_call, count, cuMemsetD16Async_params, N);
SAME(cupti_memory_call, count, cuMemsetD32Async_params, N);
SAME(cupti_memory_call, count, cuMemcpyDtoD_v2_params, ByteCount);
SAME(cupti_memory_call, count, cuMemcpyDtoDAsync_v2_params, ByteCount);
SAME_SIZE(cupti_stall, CUpti_PCSamplingStallReason);
SAME(cupti_pc, cubin_crc, CUpti_PCSamplingPCData, cubinCrc);
SAME(cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(cupti_pc, function, CUpti_PCSamplingPCData, functionName);
SAME(cupti_pc, stall_count, CUpti_PCSamplingPCData, stallReasonCount);
SAME(cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
SAME(cupti_pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(cupti_pc_data, count, CUpti_PCSamplingData, totalNumPcs);
SAME(cupti_pc_data, pcs, CUpti_PCSamplingData, pPcData);
SAME(cupti_pc_data, other_samples, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(cupti_pc_data, is_buffer_full, CUpti_PCSamplingData, hardwareBufferFull);
SAME_SIZE(cupti_attribute, CUpti_PCSamplingConfigurationInfo);
SAME(cupti_attribute, value, CUpti_PCSamplingConfigurationInfo, attributeData);
SAME_SIZE(cupti_configuration, CUpti_PCSamplingConfigurationInfoParams);
SAME_SIZE(cupti_of_context, CUpti_PCSamplingEnableParams);
SAME_SIZE(cupti_get_data, CUpti_PCSamplingGetDataParams);
SAME_SIZE(cupti_reason_count, CUpti_PCSamplingGetNumStallReasonsParams);
SAME_SIZE(cupti_reason_names, CUpti_PCSamplingGetStallReasonsParams);
SAME_SIZE(cupti_crc, CUpti_GetCubinCrcParams);
SAME(cupti_kernel_activity, start, CUpti_ActivityKernel8, start);
SAME(cupti_kernel_activity, end, CUpti_ActivityKernel8, end);
SAME(cupti_kernel_activity, device, CUpti_ActivityKernel8, deviceId);
SAME(cupti_kernel_activity, stream, CUpti_ActivityKernel8, streamId);
SAME(cupti_kernel_activity, correlation, CUpti_ActivityKernel8, correlationId);
SAME(cupti_kernel_activity, name, CUpti_ActivityKernel8, name);
SAME(cupti_kernel_activity, node, CUpti_ActivityKernel8, graphNodeId);
SAME(cupti_kernel_activity, graph, CUpti_ActivityKernel8, graphId);
SAME(cupti_copy_activity, direction, CUpti_ActivityMemcpy5, copyKind);
SAME(cupti_copy_activity, from, CUpti_ActivityMemcpy5, srcKind);
SAME(cupti_copy_activity, to, CUpti_ActivityMemcpy5, dstKind);
SAME(cupti_copy_activity, bytes, CUpti_ActivityMemcpy5, bytes);
SAME(cupti_copy_activity, start, CUpti_ActivityMemcpy5, start);
SAME(cupti_copy_activity, end, CUpti_ActivityMemcpy5, end);
SAME(cupti_copy_activity, device, CUpti_ActivityMemcpy5, deviceId);
SAME(cupti_copy_activity, stream, CUpti_ActivityMemcpy5, streamId);
SAME(cupti_copy_activity, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME(cupti_copy_activity, node, CUpti_ActivityMemcpy5, graphNodeId);
SAME(cupti_copy_activity, graph, CUpti_ActivityMemcpy5, graphId);
SAME(cupti_peer_copy_activity, direction, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME(cupti_peer_copy_activity, from, CUpti_ActivityMemcpyPtoP4, srcKind);
SAME(cupti_peer_copy_activity, to, CUpti_ActivityMemcpyPtoP4, dstKind);
SAME(cupti_peer_copy_activity, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_peer_copy_activity, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(cupti_peer_copy_activity, end, CUpti_ActivityMemcpyPtoP4, end);
SAME(cupti_peer_copy_activity, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(cupti_peer_copy_activity, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_peer_copy_activity, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_peer_copy_activity, node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_peer_copy_activity, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME(cupti_set_activity, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_set_activity, start, CUpti_ActivityMemset4, start);
SAME(cupti_set_activity, end, CUpti_ActivityMemset4, end);
SAME(cupti_set_activity, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_set_activity, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_set_activity, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_set_activity, node, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_set_activity, graph, CUpti_ActivityMemset4, graphId);
SAME(cupti_set_activity, memory, CUpti_ActivityMemset4, memoryKind);

_Static_assert(CUPTI_MODULE_LOADED == CUPTI_CBID_RESOURCE_MODULE_LOADED &&
		       CUPTI_MODULE_UNLOAD_STARTING == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING &&
		       CUPTI_CONTEXT_CREATED == CUPTI_CBID_RESOURCE_CONTEXT_CREATED &&
		       CUPTI_CONTEXT_DESTROY_STARTING == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING &&
		       CUPTI_GRAPH_NODE_CREATED == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED &&
		       CUPTI_GRAPH_NODE_CLONED == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED &&
		       CUPTI_NODE_KERNEL == CU_GRAPH_NODE_TYPE_KERNEL && CUPTI_NODE_COPY == CU_GRAPH_NODE_TYPE_MEMCPY &&
		       CUPTI_NODE_SET == CU_GRAPH_NODE_TYPE_MEMSET,
	       "resource callbacks");
_Static_assert((int)CUPTI_LAUNCH_KERNEL == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
		       (int)CUPTI_LAUNCH_KERNEL_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz &&
		       (int)CUPTI_LAUNCH_COOPERATIVE == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel &&
		       (int)CUPTI_LAUNCH_COOPERATIVE_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz &&
		       (int)CUPTI_LAUNCH_KERNEL_EX == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx &&
		       (int)CUPTI_LAUNCH_KERNEL_EX_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
	       "launch callbacks");
_Static_assert((int)CUPTI_BEGIN_CAPTURE == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture &&
		       (int)CUPTI_BEGIN_CAPTURE_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz &&
		       (int)CUPTI_BEGIN_CAPTURE_2 == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2 &&
		       (int)CUPTI_BEGIN_CAPTURE_2_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz &&
		       (int)CUPTI_END_CAPTURE == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture &&
		       (int)CUPTI_END_CAPTURE_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz &&
		       (int)CUPTI_GRAPH_LAUNCH == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch &&
		       (int)CUPTI_GRAPH_LAUNCH_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
	       "graph callbacks");
_Static_assert((int)CUPTI_MEMSET_D8_ASYNC == CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async &&
		       (int)CUPTI_MEMSET_D16_ASYNC == CUPTI_DRIVER_TRACE_CBID_cuMemsetD16Async &&
		       (int)CUPTI_MEMSET_D32_ASYNC == CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async &&
		       (int)CUPTI_MEMSET_D8 == CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2 &&
		       (int)CUPTI_MEMSET_D16 == CUPTI_DRIVER_TRACE_CBID_cuMemsetD16_v2 &&
		       (int)CUPTI_MEMSET_D32 == CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2 &&
		       (int)CUPTI_COPY_ON_DEVICE == CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2 &&
		       (int)CUPTI_COPY_ON_DEVICE_ASYNC == CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2 &&
		       (int)CUPTI_COPY_ON_DEVICE_ASYNC_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz &&
		       (int)CUPTI_MEMSET_D8_ASYNC_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz &&
		       (int)CUPTI_MEMSET_D16_ASYNC_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuMemsetD16Async_ptsz &&
		       (int)CUPTI_MEMSET_D32_ASYNC_PTSZ == CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz,
	       "memory callbacks");
_Static_assert(CUPTI_MULTIPLE_SUBSCRIBERS == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
		       CUPTI_OUT_OF_MEMORY == CUPTI_ERROR_OUT_OF_MEMORY,
	       "results");
#define SAME_COPY(NAME, NUMBER) _Static_assert((int)CUPTI_DRIVER_TRACE_CBID_##NAME == NUMBER, #NAME);
EARLY_COPY_CALLS(SAME_COPY)
#define SAME_COUNT(NAME, NUMBER) SAME(cupti_memory_call, count, NAME##_params, ByteCount);
LINEAR_COPY_CALLS(SAME_COUNT)
#if CUDA_VERSION >= 13000
BATCH_COPY_CALLS(SAME_COPY)
#endif
_Static_assert((int)CUPTI_HOST_TO_DEVICE == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD &&
		       (int)CUPTI_DEVICE_TO_HOST == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH &&
		       (int)CUPTI_HOST_TO_ARRAY == CUPTI_ACTIVITY_MEMCPY_KIND_HTOA &&
		       (int)CUPTI_ARRAY_TO_HOST == CUPTI_ACTIVITY_MEMCPY_KIND_ATOH &&
		       (int)CUPTI_DEVICE_TO_DEVICE == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD &&
		       (int)CUPTI_HOST_TO_HOST == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH &&
		       (int)CUPTI_PEER_TO_PEER == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP &&
		       (int)CUPTI_MEMORY_PAGEABLE == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
	       "directions");
_Static_assert((int)CUPTI_ACTIVITY_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		       (int)CUPTI_ACTIVITY_COPY == CUPTI_ACTIVITY_KIND_MEMCPY &&
		       (int)CUPTI_ACTIVITY_SET == CUPTI_ACTIVITY_KIND_MEMSET &&
		       (int)CUPTI_ACTIVITY_PEER_COPY == CUPTI_ACTIVITY_KIND_MEMCPY2 &&
		       (int)CUPTI_FLUSH_FORCED == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED,
	       "activity");
_Static_assert((int)CUPTI_ATTRIBUTE_WORKER_SLEEP ==
			       CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN &&
		       (int)CUPTI_ATTRIBUTE_BUFFER == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
	       "attributes");

#if __has_include(<nvml.h>)
#include <nvml.h>

#include "nvml_functions.h"

SAME_SIZE(nvml_memory, nvmlMemory_t);
SAME(nvml_memory, used, nvmlMemory_t, used);
SAME_SIZE(nvml_utilization, nvmlUtilization_t);
SAME(nvml_utilization, memory, nvmlUtilization_t, memory);
_Static_assert((int)NVML_OK == NVML_SUCCESS && (int)NVML_NOT_SUPPORTED == NVML_ERROR_NOT_SUPPORTED &&
		       (int)NVML_SM_CLOCK == NVML_CLOCK_SM && (int)NVML_MEMORY_CLOCK == NVML_CLOCK_MEM,
	       "NVML");
/* The names before CUDA 12.2, which later headers have, too. */
_Static_assert(NVML_POWER_CAP == nvmlClocksThrottleReasonSwPowerCap &&
		       NVML_HARDWARE_SLOWDOWN == nvmlClocksThrottleReasonHwSlowdown &&
		       NVML_THERMAL_SLOWDOWN == nvmlClocksThrottleReasonSwThermalSlowdown &&
		       NVML_HARDWARE_THERMAL_SLOWDOWN == nvmlClocksThrottleReasonHwThermalSlowdown &&
		       NVML_POWER_BRAKE == nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
	       "NVML clock reasons");
#endif
