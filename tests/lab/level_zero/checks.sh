# SPDX-License-Identifier: Apache-2.0
# What the tests of the Level Zero program share; they read it with ".".
# shellcheck shell=bash
# shellcheck source=tests/tap.sh
. "$LAB_SOURCE/tests/tap.sh"

programs=$LAB_BUILD/tests/lab/level_zero
source=$LAB_SOURCE/tests/lab/level_zero
export PYTHONDONTWRITEBYTECODE=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# launcher VARIANT PRODUCT OPTION...: runs the program; what it prints besides the truth is in the file "printed".
launcher() {
  local variant=$1 product=$2
  shift 2
  rm -f truth
  "$source/run-without-gpu" "$product" "$programs/launcher-$variant" --truth truth "$@" >printed 2>&1 || {
    cat printed
    return 1
  }
}

# rows KIND FIELD...: these fields (1 is KIND itself) of each line of that kind in the truth.
rows() {
  local kind=$1
  shift
  awk -F '\t' -v kind="$kind" -v fields="$*" 'BEGIN { n = split(fields, field, " ") }
    $1 == kind { for (i = 1; i <= n; i++) printf "%s%s", $field[i], i < n ? "\t" : "\n" }' truth
}

equal() {
  [[ $1 == "$2" ]] || {
    printf 'expected: %s\nfound:    %s\n' "$1" "$2"
    return 1
  }
}
