# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds with a sanitizer and runs tests in them, for .ci/sanitizers and .ci/threads.

# A sanitizer takes this many times as long: limits of tests are multiplied.
slowdown=10
export CK_TIMEOUT_MULTIPLIER=$slowdown

# sanitized_build BUILD MESON-OPTION...: configures from scratch and builds the plugins, which no test names as a dependency.
# What tests depend on is built when they run. Without code to continue after a report, and with line numbers as the only
# debug information, compiling takes a quarter of the time; reports still have lines.
sanitized_build() {
  local build=$1 plugins
  shift
  rm -rf "$build"
  meson setup "$build" -Dlibdir=lib -Doptimization=1 "-Dc_args=-g1 -fno-sanitize-recover=all" "$@" ||
    return
  mapfile -t plugins < <(ninja -C "$build" -t targets all | sed -n 's|^\(plugins/[^:]*\.so\): .*|\1|p')
  ninja -C "$build" "${plugins[@]}"
}

# sanitized_test BUILD MESON-TEST-OPTION...: the last line of the output counts the tests.
sanitized_test() {
  local build=$1 status=0
  shift
  meson test -C "$build" --print-errorlogs --num-processes $(($(nproc) + 1)) --timeout-multiplier "$slowdown" "$@" ||
    status=$?
  python3 tests/summarize.py "$build" || status=1
  return "$status"
}
