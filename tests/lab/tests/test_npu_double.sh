#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module intel_vpu
# lab: seconds 600
# lab: covers tests/lab/conformance/npu_* tests/lab/conformance/tap.[ch] tests/lab/programs/npu_*
# The double of the NPU keeps the driver's interface, and plays a scenario's calls in its order and contexts.
set -u
tracing=/sys/kernel/tracing double=/sys/kernel/debug/intel_vpu_double device=/sys/class/accel/accel0/device
folder=$LAB_SOURCE/tests/lab/doubles/npu
player=$LAB_BUILD/tests/lab/programs/npu_player

# shellcheck source=tests/tap.sh
. "$LAB_SOURCE/tests/tap.sh"
tests=100 # after those of the conformance program

truth() {
  awk -v name="$1" '$1 == name { print $2 }' "$double/truth"
}

# The device sleeps, and nothing of the scenario is to come: it may sleep between two events.
asleep() {
  for _ in $(seq 600); do
    [ "$(truth events_waiting)" = 0 ] && [ "$(cat "$device/power/runtime_status")" = suspended ] && return
    sleep 0.1
  done
  echo "# the device does not fall asleep"
}

# function,entries of the driver's own functions, from `truth`
truth_counts() {
  awk '$1 == "call" { count[$3] += $4 } END { for (name in count) print name, count[name] }' "$double/truth" | sort
}

trace_begin() {
  echo 0 >"$tracing/tracing_on"
  echo nop >"$tracing/current_tracer"
  echo 16384 >"$tracing/buffer_size_kb"
  echo ':mod:intel_vpu' >"$tracing/set_ftrace_filter"
  echo >"$tracing/trace"
  echo function >"$tracing/current_tracer"
  echo 1 >"$tracing/tracing_on"
}

# The functions in their order, as the kernel's function tracer saw them.
trace_end() {
  echo 0 >"$tracing/tracing_on"
  sed -nE 's/.*: ((ivpu_|file_priv_unbind)[^ ]*) <-.*/\1/p' "$tracing/trace"
  echo nop >"$tracing/current_tracer"
  echo >"$tracing/set_ftrace_filter"
}

"$LAB_BUILD/tests/lab/conformance/npu-conformance" | sed '/^1\.\./d' || true
[ "${PIPESTATUS[0]}" = 0 ] || failures=1

# Lacking on purpose: opening of debugfs files that the double does not have, the module's own begin and end, and small
# helpers of 7.2.
lacking='ivpu_(dct|reset_engine|resume_engine)_fops_open|ivpu_pci_driver_(init|exit)'
lacking+='|ivpu_is_capable|ivpu_hw_reg_poll_fld(\.constprop\.0)?'
modinfo -F filename intel_vpu | xargs xz -dc >real.ko
nm real.ko | awk '$2 ~ /^[tT]$/ && $3 ~ /^ivpu_/ && $3 !~ /\.cold$/ { print $3 }' | sort -u >real-functions
sed -nE 's/^(ivpu_[^ ]*) .*\[intel_vpu\].*/\1/p' "$tracing/available_filter_functions" | sort -u >functions
comm -23 real-functions functions | grep -vxE "$lacking" | sed 's/^/# lacking: /' >lacking-functions
cat lacking-functions
[ "$(wc -l <real-functions)" -ge 200 ] && [ ! -s lacking-functions ]
result $? "the functions ivpu_* of this kernel's real module are there"
[ -e /sys/kernel/btf/intel_vpu ]
result $? "the module has BTF"

for scenario in "$folder"/scenarios/*.txt; do
  trace_begin
  "$player" --load "$scenario" >played 2>&1
  status=$?
  asleep
  trace_end >order
  sort order | uniq -c | awk '{ print $2, $1 }' | sort >traced
  truth_counts >counted
  sed 's/^/# /' played
  diff traced counted >differences || { status=1; sed 's/^/# /' differences; }
  for pair in "buffers 0" "events_lost 0" "bytes 0"; do
    [ "$(truth "${pair% *}")" = "${pair#* }" ] || { status=1; echo "# ${pair% *} is not ${pair#* }"; }
  done
  [ "$(truth jobs_submitted)" = "$(($(truth jobs_done) + $(truth jobs_aborted)))" ] || status=1
  [ "$(truth resumes)" = "$(truth suspends)" ] || { status=1; echo "# resumes and suspends differ"; }
  result $status "$(basename "$scenario" .txt): the function tracer counts what truth counts"
  [ "$(basename "$scenario")" = leak.txt ] || continue
  awk '$1 == "ivpu_gem_bo_free" { freed++ } $1 == "ivpu_bo_create_ioctl" { created++; early = freed }
    END { exit !(created > 10 && freed == created && !early) }' order
  result $? "leak: every buffer is there until the file closes"
done

# By the number of its minor, or by its address.
reset_counter=$(find /sys/kernel/debug/accel/ -name reset_counter | head -1)
resets=$(cat "$reset_counter")
"$player" --load "$folder/scenarios/hang.txt" >/dev/null && asleep
[ "$(truth jobs_aborted)" = 1 ] && [ "$(truth jobs_done)" = 3 ]
result $? "hang: one job of four is aborted"
[ $(($(cat "$reset_counter") - resets)) = 1 ]
result $? "hang: reset_counter counts one recovery"
before=$(cat "$device/npu_busy_time_us")
"$player" --load "$folder/scenarios/steady.txt" >/dev/null && asleep
after=$(cat "$device/npu_busy_time_us")
[ $((after - before)) -ge 200000 ]
result $? "steady: npu_busy_time_us grows by at least 100 times 2 ms"
"$player" --load "$folder/scenarios/two.txt" >played && asleep
[ "$(awk '$1 == "call" && $3 == "ivpu_submit_ioctl" { print $6, $4 }' "$double/truth" | sort | tr '\n' ' ')" = \
  "often 60 seldom 15 " ]
result $? "two: truth tells the processes apart"

trace=$LAB_SOURCE/../shared/data/npu/matmul-bpftrace.txt
if [ -e "$trace" ]; then
  python3 "$folder/make_scenario.py" "$trace" >matmul
  sed -n 's/^kprobe:intel_vpu://p' "$trace" >expected
  trace_begin
  "$player" --load matmul >/dev/null
  status=$?
  asleep
  trace_end >traced
  cmp traced expected || status=1
  result $status "the published trace: $(wc -l <expected) calls in its order"
  truth_counts >counted
  sort expected | uniq -c | awk '{ print $2, $1 }' | sort | diff - counted >differences
  result $? "the published trace: truth counts each function as often"
else
  skip "the published trace" "it is not beside the checkout"
  skip "its truth" "it is not beside the checkout"
fi

# Stacks: the callers stand one below the other. A user stack is printed while its process is alive, to have names.
cat "$folder/scenarios/steady.txt" >"$double/scenario"
timeout 120 bpftrace -c "$player $folder/scenarios/steady.txt" -e '
  kprobe:ivpu_mmu_context_map_page { @map[kstack(16)] = count(); }
  kprobe:ivpu_submit_ioctl /@submits < 5/ { @submits++; printf("%s\n", ustack(8)); }
  kprobe:ivpu_ipc_irq_handler { @interrupt[kstack(24)] = count(); }
  kprobe:ivpu_job_destroy { @thread[kstack(16)] = count(); }' >stacks 2>bpftrace-errors
# below FIRST NEXT...: each function directly below the one before it, in some stack
below() {
  awk -v names="$*" 'BEGIN { n = split(names, want, " "); at = 1 }
    { sub(/\+.*/, ""); gsub(/[ \t]/, ""); if ($0 == want[at]) { if (++at > n) exit } else at = ($0 == want[1]) + 1 }
    END { exit at <= n }' stacks
}
below ivpu_mmu_context_map_page ivpu_mmu_context_map_sgt ivpu_bo_pin ivpu_submit_ioctl drm_ioctl_kernel
result $? "a mapping's stack is the submission's, on its thread"
below ivpu_ipc_irq_handler ivpu_hw_ip_irq_handler_40xx ivpu_hw_irq_handler __handle_irq_event_percpu
result $? "a message's stack is the interrupt handler's"
below ivpu_job_destroy ivpu_job_signal_and_destroy ivpu_job_done_callback ivpu_ipc_irq_thread_handler \
  ivpu_irq_thread_handler
result $? "a job's end has the stack of the interrupt's thread"
grep -q 'npu_submit_inference' stacks
result $? "the player's own function is in the user stack"
[ $failures = 0 ] || sed 's/^/# /' bpftrace-errors

exec 8<>/dev/accel/accel0
rmmod intel_vpu 2>/dev/null
result $(($? == 0)) "the module stays while the device is open"
exec 8>&-
asleep

for event in pm job jsm; do grep -v '^ID:' "$tracing/events/vpu/$event/format"; done >formats
for generation in 6.12 7.2; do
  rmmod intel_vpu && insmod "$LAB_MODULES/intel_vpu.ko" generation=$generation
  result $? "generation $generation loads"
  [ -d "$tracing/events/vpu" ]
  result $(($? != (${generation#*.} == 12))) "generation $generation has tracepoints as that release has"
done
"$LAB_BUILD/tests/lab/conformance/npu-conformance" queues | grep -q '^ok .*queues$'
result $? "generation 7.2 has command queues"
printf 'set %s\n' 'frequency_mhz 1404' 'minimum_frequency_mhz 601' 'efficient_frequency_mhz 1203' \
  'maximum_frequency_mhz 1902' 'sched_mode OS' >frequencies
cat frequencies >"$double/scenario"
result $? "a scenario of settings only"
asleep
files='npu_max_frequency_mhz npu_current_frequency_mhz freq/hw_min_freq freq/hw_max_freq freq/hw_efficient_freq
  freq/current_freq sched_mode npu_memory_utilization'
values() {
  for file in $files; do cat "$device/$file"; done | tr '\n' ' '
}
[ "$(values)" = "1902 0 601 1902 1203 0 OS 0 " ]
result $? "a sleeping device shows its frequencies, and none of its own"
echo on >"$device/power/control"
[ "$(values)" = "1902 1404 601 1902 1203 1404 OS 0 " ]
result $? "a device that is awake shows its frequency"
echo auto >"$device/power/control"
asleep
if [ "$LAB_KERNEL" = newest ]; then
  modinfo -F filename intel_vpu | xargs xz -dc | strings | grep -xE '(hw|npu)_[a-z]+_freq(uency_mhz)?' | sort >real-names
  for file in $files; do basename "$file"; done | grep -E '^(hw|npu).*freq' | sort | diff - real-names
  result $? "its files have the names of the real module's"
  rmmod intel_vpu && modprobe intel_vpu
  for event in pm job jsm; do grep -v '^ID:' "$tracing/events/vpu/$event/format"; done >real-formats
  cmp formats real-formats
  result $? "the tracepoints have the real module's formats"
  rmmod intel_vpu && insmod "$LAB_MODULES/intel_vpu.ko"
fi
exit $((failures > 0))
