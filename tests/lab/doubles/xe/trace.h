/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of xe: fields, order and text as the format files of Linux 7.2's own xe have them. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xe

#if !defined(XE_DOUBLE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define XE_DOUBLE_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>
#include "exec_queue.h"

TRACE_EVENT(xe_eu_stall_data_read,
	    TP_PROTO(u8 slice, u8 subslice, u32 read_ptr, u32 write_ptr, size_t read_size, size_t total_size),
	    TP_ARGS(slice, subslice, read_ptr, write_ptr, read_size, total_size),
	    TP_STRUCT__entry(__field(u8, slice) __field(u8, subslice) __field(u32, read_ptr) __field(u32, write_ptr)
				     __field(size_t, read_size) __field(size_t, total_size)),
	    TP_fast_assign(__entry->slice = slice; __entry->subslice = subslice; __entry->read_ptr = read_ptr;
			   __entry->write_ptr = write_ptr; __entry->read_size = read_size;
			   __entry->total_size = total_size;),
	    TP_printk("slice: %u subslice: %u read ptr: 0x%x write ptr: 0x%x read size: %zu total read size: %zu",
		      __entry->slice, __entry->subslice, __entry->read_ptr, __entry->write_ptr, __entry->read_size,
		      __entry->total_size));

/* States of the firmware and flags of jobs are none of the double's: 0. */
DECLARE_EVENT_CLASS(
	xe_sched_job, TP_PROTO(struct xe_sched_job *job), TP_ARGS(job),
	TP_STRUCT__entry(__string(dev, dev_name(job->q->scheduler.dev)) __field(u32, seqno) __field(u32, lrc_seqno)
				 __field(u8, gt_id) __field(u16, guc_id) __field(u32, guc_state) __field(u32, flags)
					 __field(int, error) __field(struct dma_fence *, fence)
						 __field(u64, batch_addr)),
	TP_fast_assign(__assign_str(dev); __entry->seqno = job->seqno; __entry->lrc_seqno = job->seqno;
		       __entry->gt_id = job->q->gt_id; __entry->guc_id = job->q->id; __entry->guc_state = 0;
		       __entry->flags = 0; __entry->error = 0; __entry->fence = job->fence ? &job->fence->base : NULL;
		       __entry->batch_addr = job->batch_addr;),
	TP_printk("dev=%s, fence=%p, seqno=%u, lrc_seqno=%u, gt=%u, guc_id=%d, batch_addr=0x%012llx, "
		  "guc_state=0x%x, flags=0x%x, error=%d",
		  __get_str(dev), __entry->fence, __entry->seqno, __entry->lrc_seqno, __entry->gt_id, __entry->guc_id,
		  __entry->batch_addr, __entry->guc_state, __entry->flags, __entry->error));
DEFINE_EVENT(xe_sched_job, xe_sched_job_create, TP_PROTO(struct xe_sched_job *job), TP_ARGS(job));
DEFINE_EVENT(xe_sched_job, xe_sched_job_exec, TP_PROTO(struct xe_sched_job *job), TP_ARGS(job));
DEFINE_EVENT(xe_sched_job, xe_sched_job_run, TP_PROTO(struct xe_sched_job *job), TP_ARGS(job));
DEFINE_EVENT(xe_sched_job, xe_sched_job_free, TP_PROTO(struct xe_sched_job *job), TP_ARGS(job));

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
