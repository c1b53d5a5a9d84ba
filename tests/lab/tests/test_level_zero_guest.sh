#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module xe
# lab: runtime
# lab: covers tests/lab/level_zero/**
# Intel's real runtime in a guest, beside the double of the xe device: it launches what it says, as uprobes on the loader
# count from outside.
set -eu
[ -n "$LAB_CHROOT" ] || { echo "there is no chroot with Intel's runtime"; exit 77; }
command -v bpftrace >/dev/null || { echo "bpftrace is not installed"; exit 77; }
loader=$(readlink -f "$LAB_CHROOT"/usr/lib/*/libze_loader.so.1)
[ -e /dev/dri/renderD128 ] || { echo "the double has no device node"; exit 1; }

bpftrace -e "uprobe:$loader:zeCommandListAppendLaunchKernel { @launches = count(); }
  BEGIN { printf(\"attached\\n\"); }" >counted 2>&1 &
tracer=$!
until grep -q attached counted; do
  kill -0 $tracer 2>/dev/null || { cat counted; exit 1; }
  sleep 0.1
done
"$LAB_SOURCE/tests/lab/guest/in-chroot" "$LAB_SOURCE/tests/lab/level_zero/run-without-gpu" bmg \
  "$LAB_BUILD/tests/lab/level_zero/launcher-fp" --turns 3 --truth "$PWD/truth"
kill -INT $tracer
wait $tracer || :
told=$(awk -F '\t' '$1 == "launch" && $8 == "zeCommandListAppendLaunchKernel" { sum += $10 } END { print sum + 0 }' truth)
seen=$(sed -n 's/^@launches: //p' counted)
echo "the program told of $told launches, the uprobe saw $seen"
if [ "$told" -eq 0 ] || [ "$told" != "$seen" ]; then
  cat truth counted
  exit 1
fi
