// SPDX-License-Identifier: GPL-2.0-only
/* The driver's functions that the scenario calls, and the table of all of them. */
#include <linux/scatterlist.h>
#include "play.h"

struct ivpu_ipc_consumer;
struct ivpu_ipc_hdr;
struct ivpu_mmu_context;
struct ivpu_addr_range;
struct vpu_jsm_msg;

#define PLAIN(name, generations)                                                                                       \
	noinline int name(struct ivpu_device *vdev);                                                                   \
	noinline int name(struct ivpu_device *vdev)                                                                    \
	{                                                                                                              \
		DOUBLE_BODY(FUNCTION_##name, vdev);                                                                    \
		return 0;                                                                                              \
	}
#define WRITTEN(name, generations)
#define CALLED(name, generations)
#define DOTTED(name, symbol, generations)                                                                              \
	noinline int name(struct ivpu_device *vdev) __asm__(symbol);                                                   \
	noinline int name(struct ivpu_device *vdev)                                                                    \
	{                                                                                                              \
		DOUBLE_BODY(FUNCTION_##name, vdev);                                                                    \
		return 0;                                                                                              \
	}
#include "functions.h"
#undef PLAIN
#undef WRITTEN
#undef CALLED
#undef DOTTED

/*
 * Parameters as in drivers/accel/ivpu of Linux 7.2 (ivpu_ipc.c, ivpu_gem.c, ivpu_mmu_context.c, ivpu_job.c); what they
 * are in a call is what the scenario says (arg1= and so on).
 */
#define HAS_PARAMETERS(type, name, ...)                                                                                \
	noinline type name(struct ivpu_device *vdev, __VA_ARGS__);                                                     \
	noinline type name(struct ivpu_device *vdev, __VA_ARGS__)                                                      \
	{                                                                                                              \
		DOUBLE_BODY(FUNCTION_##name, vdev);                                                                    \
		return (type)0;                                                                                        \
	}

HAS_PARAMETERS(int, ivpu_ipc_receive, struct ivpu_ipc_consumer *cons, struct ivpu_ipc_hdr *ipc_buf,
	       struct vpu_jsm_msg *jsm_msg, unsigned long timeout_ms)
HAS_PARAMETERS(int, ivpu_ipc_send, struct ivpu_ipc_consumer *cons, struct vpu_jsm_msg *req)
HAS_PARAMETERS(int, ivpu_ipc_send_receive, struct vpu_jsm_msg *req, u32 expected_resp, struct vpu_jsm_msg *resp,
	       u32 channel, unsigned long timeout_ms)
HAS_PARAMETERS(int, ivpu_ipc_send_receive_internal, struct vpu_jsm_msg *req, u32 expected_resp_type,
	       struct vpu_jsm_msg *resp, u32 channel, unsigned long timeout_ms)
HAS_PARAMETERS(struct ivpu_bo *, ivpu_bo_create, struct ivpu_mmu_context *ctx, struct ivpu_addr_range *range, u64 size,
	       u32 flags)
HAS_PARAMETERS(struct ivpu_bo *, ivpu_bo_create_global, u64 size, u32 flags)
HAS_PARAMETERS(int, ivpu_mmu_context_map_page, struct ivpu_mmu_context *ctx, u64 vpu_addr, dma_addr_t dma_addr,
	       u64 prot)
HAS_PARAMETERS(int, ivpu_mmu_context_map_sgt, struct ivpu_mmu_context *ctx, u64 vpu_addr, struct sg_table *sgt,
	       bool llc_coherent)
HAS_PARAMETERS(int, ivpu_job_signal_and_destroy, u32 job_id, u32 job_status)

/* What is written elsewhere needs a declaration of any type: the table only has its address. */
#define PLAIN(name, generations) [FUNCTION_##name] = { #name, (double_call *)(void *)name, generations, false },
#define WRITTEN(name, generations) [FUNCTION_##name] = { #name, (double_call *)(void *)name, generations, false },
#define CALLED(name, generations) [FUNCTION_##name] = { #name, (double_call *)(void *)name, generations, true },
#define DOTTED(name, symbol, generations)                                                                              \
	[FUNCTION_##name] = { symbol, (double_call *)(void *)name, generations, false },

extern char ivpu_probe[], ivpu_remove[], ivpu_get_param_ioctl[], ivpu_set_param_ioctl[], ivpu_bo_create_ioctl[],
	ivpu_bo_info_ioctl[], ivpu_bo_wait_ioctl[], ivpu_submit_ioctl[], ivpu_cmdq_create_ioctl[],
	ivpu_cmdq_destroy_ioctl[], ivpu_cmdq_submit_ioctl[], ivpu_bo_create_from_userptr_ioctl[], ivpu_ms_start_ioctl[],
	ivpu_ms_stop_ioctl[], ivpu_ms_get_data_ioctl[], ivpu_ms_get_info_ioctl[];

const struct double_function double_functions[DOUBLE_FUNCTIONS] = {
#include "functions.h"
};
