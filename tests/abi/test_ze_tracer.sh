#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tracer goes into processes of any age: it requires no newer C library than it states, and exports only the required symbols.
# test_ze_tracer.sh LIBRARY
set -u
symbols=$(objdump -T "$1") || { echo "1..0 # SKIP objdump cannot read $1"; exit 0; }
newest=$(grep -o 'GLIBC_[0-9.]*' <<<"$symbols" | sort -V | tail -n 1)
shown=$(awk '$4 == ".text" { print $NF }' <<<"$symbols" | LC_ALL=C sort | tr '\n' ' ')
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libdl|ld-linux-x86-64)\.so\.' | tr '\n' ' ')
failures=0

check() {
  if [[ $3 == "$4" ]]; then
    echo "ok $1 - $2"
  else
    echo "not ok $1 - $2"
    echo "# expected: $3"
    echo "# found:    $4"
    failures=1
  fi
}

echo "1..3"
check 1 "needs no glibc newer than 2.18" GLIBC_2.18 "$newest"
check 2 "shows its entries only" "dlsym iaprof_ze_tracer_start zeInit zeInitDrivers " "$shown"
check 3 "links to nothing but the C library" "" "$needed"
exit $failures
