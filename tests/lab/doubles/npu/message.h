/* SPDX-License-Identifier: GPL-2.0-only */
/* A message between driver and firmware, as far as the tracepoint vpu:jsm shows it. */
#pragma once

#include <linux/types.h>

enum vpu_ipc_msg_status {
	VPU_JSM_MSG_FREE,
	VPU_JSM_MSG_ALLOCATED,
};

struct vpu_jsm_msg {
	const char *type;
	enum vpu_ipc_msg_status status;
	u32 request_id;
	u32 result;
};
