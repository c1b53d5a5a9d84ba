#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# iaprof-plugin-check finds the one fault of each faulty plugin, with the check that is for it.
# usage: test_faults.sh PLUGIN_CHECK FOLDER_OF_FAULTY_PLUGINS
set -u
plugin_check=$1
folder=$2
number=0
status=0
report=$(mktemp)
trap 'rm -f "$report"' EXIT

verdict() {
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $number - $2"
  else
    echo "not ok $number - $2"
    sed 's/^/# /' "$report"
    status=1
  fi
}

# finds FAULT PATTERN: the report has a failed check of this name, and the exit status is 1.
finds() {
  "$plugin_check" "$folder/iaprof-faulty-$1.so" >"$report" 2>&1
  found=$?
  grep -q "^not ok [0-9]* - .*$2" "$report" && [ "$found" -eq 1 ]
  verdict $? "$1: $2"
}

"$plugin_check" "$folder/iaprof-faulty-none.so" >"$report" 2>&1 && ! grep -q '^not ok' "$report"
verdict $? "none: every check passes"
finds default "options and defaults are valid"
finds help "has one line of help"
finds export "and nothing else"
finds silent "destroy() after configure()"
finds crash "destroy() after configure()"
finds leak "destroy() after prepare()"
finds ignored-write "cannot be written is an error"
finds overread "nothing beyond them is read"
finds oversize "named or refused"
finds producer "any code can be opened"
finds full-queue "when the queue is full"
finds id "use ids that were given"
finds size "records are well formed"
finds future "of the past"
finds undeclared "use ids that were given"
finds check "leaves nothing open"
finds companion "all mandatory members"
finds member "all mandatory members"

"$plugin_check" "$folder/no-such-file.so" >"$report" 2>&1
[ $? -eq 2 ]
verdict $? "a file that is not there is wrong usage"
"$plugin_check" "$0" >"$report" 2>&1
[ $? -eq 1 ]
verdict $? "a file that is no plugin fails"
echo "1..$number"
exit "$status"
