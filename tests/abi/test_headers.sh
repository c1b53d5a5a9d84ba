#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C11 and as C++11, without a warning, with each compiler that is here; iaprof.h
# includes all but those of extensions, and its overview has every host function and callback.
# usage: test_headers.sh INCLUDE_FOLDER
set -u
include=$1
number=0
status=0

# compiles COMPILER LANGUAGE STANDARD HEADER
compiles() {
  number=$((number + 1))
  what="$1: $(basename "$4") as $3"
  if ! command -v "$1" >/dev/null 2>&1; then
    echo "ok $number - $what # SKIP no $1 here"
  elif messages=$(printf '#include <iaprof/%s>\nextern int unit_is_not_empty;\n' "$(basename "$4")" |
    "$1" -x "$2" -std="$3" -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$include" - 2>&1); then
    echo "ok $number - $what"
  else
    echo "not ok $number - $what"
    echo "$messages" | sed 's/^/# /'
    status=1
  fi
}

for header in "$include"/iaprof/*.h; do
  compiles gcc c c11 "$header"
  compiles clang c c11 "$header"
  compiles g++ c++ c++11 "$header"
  compiles clang++ c++ c++11 "$header"
done

# lists WHAT EXPECTED ACTUAL: every line of EXPECTED is in ACTUAL.
lists() {
  number=$((number + 1))
  missing=$(echo "$2" | grep -vxF "$3")
  if [ -n "$2" ] && [ -z "$missing" ]; then
    echo "ok $number - iaprof.h has every $1"
  else
    echo "not ok $number - iaprof.h has every $1"
    echo "$missing" | sed 's/^/# /'
    status=1
  fi
}
overview=$include/iaprof/iaprof.h
lists header "$(cd "$include" && printf '%s\n' iaprof/*.h | grep -vxE 'iaprof/(iaprof|python|unwind)\.h')" \
  "$(sed -n 's/^#include <\(.*\)>/\1/p' "$overview")"
lists function "$(sed -n 's/^\t[a-z].*(\*\([a-z_]*\))(const struct iaprof_host.*/\1/p' "$include"/iaprof/host.h \
  "$include"/iaprof/plugin.h)" "$(grep -o '[a-z_]*()' "$overview" | tr -d '()')"
echo "1..$number"
exit "$status"
