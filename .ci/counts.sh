# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Counts of tests, for scripts whose last line is "N passed, N failed, N skipped".

declare -i passed=0 failed=0

# check NAME COMMAND...: one test.
check() {
  local name=$1
  shift
  if "$@"; then
    echo "ok - $name"
    passed+=1
  else
    echo "not ok - $name"
    failed+=1
  fi
}

# add_counts "N passed, N failed, N skipped"...: prints the sums, and fails if a test failed or a line has another form.
add_counts() {
  local line
  local -i passed=0 failed=0 skipped=0
  for line; do
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
      passed+=${BASH_REMATCH[1]} failed+=${BASH_REMATCH[2]} skipped+=${BASH_REMATCH[3]}
    else
      failed+=1
    fi
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}
