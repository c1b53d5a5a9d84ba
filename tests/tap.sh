# SPDX-License-Identifier: Apache-2.0
# Prints the results of a shell script's tests as TAP. Scripts read it with ".", and end with `finish`.
# shellcheck shell=sh

tests=0
failures=0

# result STATUS WHAT [FILE...]: a test passed if STATUS is 0; otherwise the files show why it failed.
result() {
  tests=$((tests + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $tests - $2"
    return
  fi
  failures=$((failures + 1))
  echo "not ok $tests - $2"
  shift 2
  [ $# -eq 0 ] || sed 's/^/# /' "$@"
}

# skip WHAT REASON
skip() {
  tests=$((tests + 1))
  echo "ok $tests - $1 # SKIP $2"
}

# try WHAT COMMAND...: a test passes if the command succeeds, and is skipped if it returns 77 with the reason in its last
# line. The output is in the file output, in $folder if that is set.
try() {
  test_name=$1
  test_status=0
  shift
  "$@" >"${folder:-.}/output" 2>&1 || test_status=$?
  if [ "$test_status" -eq 77 ]; then
    skip "$test_name" "$(tail -n 1 "${folder:-.}/output")"
  else
    result "$test_status" "$test_name" "${folder:-.}/output"
  fi
}

finish() {
  echo "1..$tests"
  exit $((failures > 0))
}
