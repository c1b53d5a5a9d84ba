#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: expects ivpu_probe
# lab: covers plugins/ivpu/module_types.[ch] plugins/ivpu/npu_context.bpf.h lib/npu/driver_functions.[ch]
# The real intel_vpu and xe load, show their types, and a kprobe on the real ivpu_probe fires when QEMU's edu device is
# given to intel_vpu. The driver does not know this device: it prints its stack and refuses.
set -eu
device=0000:00:12.0
# shellcheck source=tests/tap.sh
. "$LAB_SOURCE/tests/tap.sh"

functions_of() {
  grep -c "\[$1\]" /sys/kernel/tracing/available_filter_functions
}

# More than: the number of functions differs from release to release.
more_functions_than() {
  local count
  count=$(functions_of "$1") && echo "$1 has $count functions that can be traced" && [ "$count" -gt "$2" ]
}

newest_or_absent() {
  if [ "$LAB_KERNEL" = newest ]; then [ -e "$1" ]; else [ ! -e "$1" ]; fi
}

# The members of the driver's structs that lead to a context have the names that iaprof looks for.
contexts_are_known() {
  "$LAB_BUILD/iaprof" -v -s ivpu -d 1ms -o none >said 2>&1
  cat said
  grep -q ' functions of intel_vpu in ' said && ! grep -q 'contexts of driver calls are not known' said
}

kprobe_fires() {
  local log
  log=$(mktemp)
  bpftrace -e 'kprobe:ivpu_probe { printf("entered\n"); } kretprobe:ivpu_probe { printf("returned %d\n", retval); exit(); }
    interval:s:60 { exit(); } BEGIN { printf("attached\n"); }' >"$log" 2>&1 &
  local tracer=$!
  until grep -q attached "$log" || ! kill -0 "$tracer" 2>/dev/null; do sleep 0.1; done
  echo intel_vpu >"/sys/bus/pci/devices/$device/driver_override"
  # The driver refuses the device, and so does the write.
  echo "$device" >/sys/bus/pci/drivers/intel_vpu/bind 2>/dev/null && echo "the driver took the device"
  wait "$tracer" || :
  echo >"/sys/bus/pci/devices/$device/driver_override"
  cat "$log"
  grep -q '^entered' "$log" && grep -qE '^returned (-|[1-9])' "$log"
}

modprobe intel_vpu
modprobe xe
try "types of intel_vpu" test -r /sys/kernel/btf/intel_vpu
try "types of xe" test -r /sys/kernel/btf/xe
try "contexts of calls of intel_vpu" contexts_are_known
try "functions of intel_vpu" more_functions_than intel_vpu 200
try "functions of xe" more_functions_than xe 1000
try "the NPU's tracepoints are there or not, as the kernel is" newest_or_absent /sys/kernel/tracing/events/vpu/job
try "EU stall's tracepoint is there or not, as the kernel is" \
  newest_or_absent /sys/kernel/tracing/events/xe/xe_eu_stall_data_read
if command -v bpftrace >/dev/null; then
  try "a kprobe on the real ivpu_probe fires" kprobe_fires
else
  skip "a kprobe on the real ivpu_probe fires" "bpftrace is not installed"
fi
modprobe -r intel_vpu xe
