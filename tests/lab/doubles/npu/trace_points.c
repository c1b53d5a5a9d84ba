// SPDX-License-Identifier: GPL-2.0-only
/* Where the tracepoints are defined, and can be taken away. */
#include <linux/trace_events.h>
#define CREATE_TRACE_POINTS
#include "trace.h"
#include "driver.h"

/* Linux 6.12's intel_vpu has no tracepoints: events/vpu goes away. */
int double_tracepoints_remove(void)
{
	int ret = trace_remove_event_call(&event_pm);

	if (!ret)
		ret = trace_remove_event_call(&event_job);
	if (!ret)
		ret = trace_remove_event_call(&event_jsm);
	return ret;
}
