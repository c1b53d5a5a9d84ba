#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C11 and as C++11, without a warning, with each compiler that is here.
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
  elif messages=$(echo "#include <iaprof/$(basename "$4")>" |
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
echo "1..$number"
exit "$status"
