/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUPTI that the injected library uses, declared by hand: the library opens CUPTI at run time, whatever its
 * version, and is built without CUDA. cupti_layout.c compares this with NVIDIA's headers where they are installed.
 *
 * CUPTI reads and writes no further than the size that a struct states, so that members may be missing at the end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct cupti_context_opaque *cupti_context; /* CUcontext */
typedef struct cupti_subscriber_opaque *cupti_subscriber;

enum { CUPTI_OK = 0, CUPTI_OUT_OF_MEMORY = 8, CUPTI_NOT_COMPATIBLE = 14, CUPTI_MULTIPLE_SUBSCRIBERS = 39 };

enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RESOURCE = 3 };

/* Callback ids of domain RESOURCE. */
enum {
	CUPTI_CONTEXT_CREATED = 1,
	CUPTI_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_MODULE_LOADED = 6,
	CUPTI_MODULE_UNLOAD_STARTING = 7,
	CUPTI_GRAPH_NODE_CREATED = 13,
	CUPTI_GRAPH_NODE_CLONED = 20
};

/* Callback ids of domain DRIVER. */
enum {
	CUPTI_LAUNCH_KERNEL = 307,
	CUPTI_LAUNCH_KERNEL_PTSZ = 442,
	CUPTI_LAUNCH_COOPERATIVE = 477,
	CUPTI_LAUNCH_COOPERATIVE_PTSZ = 478,
	CUPTI_LAUNCH_KERNEL_EX = 652,
	CUPTI_LAUNCH_KERNEL_EX_PTSZ = 653,

	CUPTI_MEMSET_D8_ASYNC = 216,
	CUPTI_MEMSET_D16_ASYNC = 218,
	CUPTI_MEMSET_D32_ASYNC = 220,
	CUPTI_MEMSET_D8 = 249,
	CUPTI_MEMSET_D16 = 250,
	CUPTI_MEMSET_D32 = 251,
	CUPTI_COPY_ON_DEVICE = 280, /* cuMemcpyDtoD_v2 */
	CUPTI_COPY_ON_DEVICE_ASYNC = 281,
	CUPTI_COPY_ON_DEVICE_ASYNC_PTSZ = 423,
	CUPTI_MEMSET_D8_ASYNC_PTSZ = 428,
	CUPTI_MEMSET_D16_ASYNC_PTSZ = 429,
	CUPTI_MEMSET_D32_ASYNC_PTSZ = 430,

	CUPTI_BEGIN_CAPTURE = 495,
	CUPTI_BEGIN_CAPTURE_PTSZ = 496,
	CUPTI_END_CAPTURE = 497,
	CUPTI_END_CAPTURE_PTSZ = 498,
	CUPTI_GRAPH_LAUNCH = 514,
	CUPTI_GRAPH_LAUNCH_PTSZ = 515,
	CUPTI_BEGIN_CAPTURE_2 = 539,
	CUPTI_BEGIN_CAPTURE_2_PTSZ = 540,
	CUPTI_BEGIN_CAPTURE_TO_GRAPH = 720,
	CUPTI_BEGIN_CAPTURE_TO_GRAPH_PTSZ = 721
};

enum { CUPTI_SITE_ENTER = 0 };

struct cupti_callback_data { /* CUpti_CallbackData */
	uint32_t site;
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol; /* name of the kernel, mangled */
	cupti_context context;
	uint32_t context_id;
	uint64_t *correlation_data;
	uint32_t correlation;
};

struct cupti_memory_call { /* cuMemsetD8Async_params, cuMemcpyDtoDAsync_v2_params and their like */
	uint64_t to;
	uint64_t what; /* the value, in its lowest bytes, or the address to copy from */
	size_t count;  /* of values, or of bytes to copy */
};

struct cupti_resource_data { /* CUpti_ResourceData */
	cupti_context context;
	void *stream;
	void *descriptor;
};

struct cupti_module_data { /* CUpti_ModuleResourceData */
	uint32_t id;
	size_t size;
	const char *cubin;
};

/* CU_GRAPH_NODE_TYPE_... */
enum { CUPTI_NODE_KERNEL = 0, CUPTI_NODE_COPY = 1, CUPTI_NODE_SET = 2 };

struct cupti_graph_data { /* CUpti_GraphData */
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t node_type;
	void *dependency;
	void *executable;
};

typedef void cupti_callback(void *data, uint32_t domain, uint32_t id, const void *parameters);

struct cupti_stall { /* CUpti_PCSamplingStallReason */
	uint32_t reason;
	uint32_t samples;
} __attribute__((packed, aligned(8)));

struct cupti_pc { /* CUpti_PCSamplingPCData */
	size_t size;
	uint64_t cubin_crc;
	uint64_t offset;
	uint32_t function_index;
	uint32_t pad;
	char *function; /* shared between records: never freed */
	size_t stall_count;
	struct cupti_stall *stalls;
	uint32_t correlation; /* appended after 12.4 */
} __attribute__((packed, aligned(8)));

struct cupti_pc_data { /* CUpti_PCSamplingData */
	size_t size;
	size_t capacity;
	uint64_t samples;
	uint64_t dropped;
	size_t count;
	size_t remaining;
	uint64_t range;
	struct cupti_pc *pcs;
	uint64_t other_samples; /* in kernels without records */
	uint8_t is_buffer_full;
} __attribute__((packed, aligned(8)));

enum {
	CUPTI_ATTRIBUTE_PERIOD = 1,
	CUPTI_ATTRIBUTE_REASONS = 2,
	CUPTI_ATTRIBUTE_MODE = 5,
	CUPTI_ATTRIBUTE_FORMAT = 7,
	CUPTI_ATTRIBUTE_BUFFER = 8,
	CUPTI_ATTRIBUTE_WORKER_SLEEP = 9 /* ms */
};
enum { CUPTI_MODE_CONTINUOUS = 1, CUPTI_MODE_SERIALIZED = 2 };
enum { CUPTI_FORMAT_PARSED = 1 };

struct cupti_attribute { /* CUpti_PCSamplingConfigurationInfo */
	uint32_t type;
	uint32_t status;
	union {
		uint64_t words[3];
		uint32_t number;
		void *pointer;
		struct {
			size_t count;
			uint32_t *indexes;
		} reasons;
	} value;
};

struct cupti_configuration { /* CUpti_PCSamplingConfigurationInfoParams */
	size_t size;
	void *reserved;
	cupti_context context;
	size_t count;
	struct cupti_attribute *attributes;
};

struct cupti_of_context { /* CUpti_PCSamplingEnableParams, CUpti_PCSamplingDisableParams */
	size_t size;
	void *reserved;
	cupti_context context;
};

struct cupti_get_data { /* CUpti_PCSamplingGetDataParams */
	size_t size;
	void *reserved;
	cupti_context context;
	void *data;
};

struct cupti_reason_count { /* CUpti_PCSamplingGetNumStallReasonsParams */
	size_t size;
	void *reserved;
	cupti_context context;
	size_t *count;
};

struct cupti_reason_names { /* CUpti_PCSamplingGetStallReasonsParams */
	size_t size;
	void *reserved;
	cupti_context context;
	size_t count;
	uint32_t *indexes;
	char **names;
};
#define CUPTI_REASON_NAME_SIZE 128 /* CUPTI_STALL_REASON_STRING_SIZE */

struct cupti_crc { /* CUpti_GetCubinCrcParams */
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};

/* CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET, _CONCURRENT_KERNEL, _MEMCPY2 */
enum { CUPTI_ACTIVITY_COPY = 1, CUPTI_ACTIVITY_SET = 2, CUPTI_ACTIVITY_KERNEL = 10, CUPTI_ACTIVITY_PEER_COPY = 22 };
enum { CUPTI_FLUSH_FORCED = 1 };

/* The beginning of CUpti_ActivityKernel8 (CUPTI 12.0) and all later ones. */
struct cupti_kernel_activity {
	uint32_t kind;
	uint8_t configuration[12];
	uint64_t start, end; /* ns, cuptiGetTimestamp(); start 0: not known */
	uint64_t completed;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t grid[3], block[3];
	uint32_t memory[4];
	uint32_t correlation;
	uint64_t grid_id;
	const char *name; /* mangled */
	uint8_t queue[32];
	uint64_t node;
	uint32_t memory_flags;
	uint32_t graph; /* of the executable graph that contains it; 0: none */
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemcpyKind: "array" is memory of a device, too. */
enum cupti_direction {
	CUPTI_HOST_TO_DEVICE = 1,
	CUPTI_DEVICE_TO_HOST = 2,
	CUPTI_HOST_TO_ARRAY = 3,
	CUPTI_ARRAY_TO_HOST = 4,
	CUPTI_ARRAY_TO_ARRAY = 5,
	CUPTI_ARRAY_TO_DEVICE = 6,
	CUPTI_DEVICE_TO_ARRAY = 7,
	CUPTI_DEVICE_TO_DEVICE = 8,
	CUPTI_HOST_TO_HOST = 9,
	CUPTI_PEER_TO_PEER = 10
};
enum { CUPTI_MEMORY_PAGEABLE = 1 }; /* CUpti_ActivityMemoryKind */

/* The beginning of CUpti_ActivityMemcpy5 (CUPTI 12.0) and all later ones. */
struct cupti_copy_activity {
	uint32_t kind;
	uint8_t direction; /* enum cupti_direction */
	uint8_t from, to;  /* kinds of memory */
	uint8_t flags;
	uint64_t bytes;
	uint64_t start, end; /* as of kernels */
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint32_t runtime_correlation;
	uint32_t pad;
	void *reserved;
	uint64_t node;
	uint32_t graph;
} __attribute__((packed, aligned(8)));

/* The beginning of CUpti_ActivityMemcpyPtoP4 (CUPTI 12.0) and all later ones. */
struct cupti_peer_copy_activity {
	uint32_t kind;
	uint8_t direction;
	uint8_t from, to;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t devices[4]; /* and contexts, of both sides */
	uint32_t correlation;
	void *reserved;
	uint64_t node;
	uint32_t graph;
} __attribute__((packed, aligned(8)));

/* The beginning of CUpti_ActivityMemset4 (CUPTI 12.0) and all later ones. */
struct cupti_set_activity {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint16_t flags;
	uint16_t memory; /* its kind */
	uint32_t pad;
	void *reserved;
	uint64_t node;
	uint32_t graph;
} __attribute__((packed, aligned(8)));

typedef void cupti_request_buffer(uint8_t **buffer, size_t *size, size_t *records);
typedef void cupti_complete_buffer(cupti_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t used);

/* The functions, in the order of cupti_function_names. */
struct cupti_functions {
	int (*subscribe)(cupti_subscriber *subscriber, cupti_callback *callback, void *data);
	int (*unsubscribe)(cupti_subscriber subscriber);
	int (*enable_callback)(uint32_t enable, cupti_subscriber subscriber, uint32_t domain, uint32_t id);
	int (*device)(cupti_context context, uint32_t *device);
	int (*sampling_enable)(struct cupti_of_context *parameters);
	int (*sampling_disable)(struct cupti_of_context *parameters);
	int (*sampling_configure)(struct cupti_configuration *parameters);
	int (*sampling_data)(struct cupti_get_data *parameters);
	int (*reason_count)(struct cupti_reason_count *parameters);
	int (*reason_names)(struct cupti_reason_names *parameters);
	int (*cubin_crc)(struct cupti_crc *parameters);
	int (*activity_callbacks)(cupti_request_buffer *request, cupti_complete_buffer *complete);
	int (*activity_enable)(uint32_t kind);
	int (*activity_disable)(uint32_t kind);
	int (*activity_flush)(uint32_t flags);
	int (*activity_next)(uint8_t *buffer, size_t used, void **record);
	int (*activity_dropped)(cupti_context context, uint32_t stream, size_t *count);
	int (*timestamp)(uint64_t *time);
	int (*graph_node_id)(void *node, uint64_t *id);
};
#define CUPTI_FUNCTION_NAMES                                                                                           \
	"cuptiSubscribe", "cuptiUnsubscribe", "cuptiEnableCallback", "cuptiGetDeviceId", "cuptiPCSamplingEnable",      \
		"cuptiPCSamplingDisable", "cuptiPCSamplingSetConfigurationAttribute", "cuptiPCSamplingGetData",        \
		"cuptiPCSamplingGetNumStallReasons", "cuptiPCSamplingGetStallReasons", "cuptiGetCubinCrc",             \
		"cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiActivityDisable",                       \
		"cuptiActivityFlushAll", "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords",            \
		"cuptiGetTimestamp", "cuptiGetGraphNodeId"
