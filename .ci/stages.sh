# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs the stages of .ci/run and .ci/full, each once: counts their tests, measures their CPU time, keeps their output in
# build-logs/, and prints a summary. Scripts source this file, call stage, and end with finish.
set -uo pipefail
export CI=true
# A cached object may name, in its debug information, the folder in which it was compiled.
export CCACHE_DISABLE=1
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

logs=build-logs
declare -i passed=0 failed=0 skipped=0
rows=() failed_stages=()
rm -rf "$logs"
mkdir -p "$logs"

# cpu_time: prints the CPU time of all children that have ended, in 1/100 s.
cpu_time() {
  local line words
  read -r line <"/proc/$$/stat"
  read -r -a words <<<"${line##*) }"
  echo $((words[13] + words[14])) # cutime and cstime
}

# stage NAME BUDGET COMMAND...: runs the command, whose last line counts its tests; a command that prints no such line is
# one test. BUDGET is in seconds of CPU time on a quiet machine. A stage that exceeds it does not fail, for time is no
# condition, but whoever adds to it moves tests to .ci/full.
stage() {
  local name=$1 budget=$2 log=$logs/$1.log began=$SECONDS cpu_began cpu status last
  local -i ok=0 bad=0 left=0
  shift 2
  printf '\n=== %s (%d s since the start) ===\n' "$name" "$SECONDS"
  cpu_began=$(cpu_time)
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  cpu=$((($(cpu_time) - cpu_began) / 100))
  last=$(tail -n 1 "$log")
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    ok=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]} left=${BASH_REMATCH[3]}
    ((status == 0 || bad > 0)) || bad=1
  else
    ((status == 0)) && ok=1 || bad=1
  fi
  passed+=ok failed+=bad skipped+=left
  ((bad == 0)) || failed_stages+=("$name")
  rows+=("$(printf '%-12s %6d passed %4d failed %4d skipped %6d s wall %6d s CPU of %d%s' "$name" "$ok" "$bad" "$left" \
    $((SECONDS - began)) "$cpu" "$budget" "$( ((cpu <= budget)) || echo ' (over budget)')")")
}

# suite_tests SUITE: a suite of build/ that ./bootstrap test leaves out.
suite_tests() {
  local status=0
  meson test -C build --no-rebuild --print-errorlogs --num-processes $(($(nproc) + 2)) --suite "$1" || status=$?
  python3 tests/summarize.py build || status=1
  return "$status"
}

# print_failures NAME: the failed tests of a stage with the lines that explain them, in the form of TAP or of
# tests/summarize.py, and how its output ends.
print_failures() {
  printf -- '--- %s (%s)\n' "$1" "$logs/$1.log"
  awk '/^(not ok|failed:)/ || ((/^#/ || /^  \| /) && explains) { explains = 1; print; next } { explains = 0 }' \
    "$logs/$1.log" | cut -c 1-300 | tail -n 150
  tail -n 8 "$logs/$1.log" | cut -c 1-300
}

# finish: prints the summary, whose last line counts all tests, and exits.
finish() {
  local name
  if ((${#failed_stages[@]})); then
    printf '\n=== failures ===\n'
    for name in "${failed_stages[@]}"; do
      print_failures "$name"
    done
  fi
  printf '\n=== summary ===\n'
  sed -nE 's/^(# )?(suite [^:]*): .* ([0-9]+) s$/\3\t\2/p' "$logs"/*.log | sort -rn | awk -F '\t' '{ printf "%6d s  %s\n", $1, $2 }'
  printf '%s\n' "${rows[@]}"
  printf 'commit %s, %d s\n' "$(git rev-parse --short=12 HEAD 2>/dev/null)" "$SECONDS"
  echo "$passed passed, $failed failed, $skipped skipped"
  exit $((failed > 0))
}
