#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# iaprof-plugin-check finds the one fault of each faulty plugin, with the check that is for it.
# usage: test_faults.sh PLUGIN_CHECK FOLDER_OF_FAULTY_PLUGINS
set -u
plugin_check=$1
folder=$2
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"
reports=$(mktemp -d)
report=$reports/report
trap 'rm -rf "$reports"' EXIT

# The checks mostly wait for timers: those of all plugins run at once.
for plugin in "$folder"/iaprof-faulty-*.so; do
  fault=${plugin##*/iaprof-faulty-}
  fault=${fault%.so}
  # A plugin that hangs: one check takes 10 s, here less, and the others are skipped.
  multiplier=1
  case $fault in hang | close) multiplier=0.3 ;; esac
  {
    CK_TIMEOUT_MULTIPLIER=$multiplier "$plugin_check" "$plugin" >"$reports/$fault" 2>&1
    echo "# exit status $?" >>"$reports/$fault"
  } &
done
wait

# finds FAULT PATTERN...: the checks that fail are those with these names and no others, and the exit status is 1.
finds() {
  fault=$1
  shift
  report=$reports/$fault
  right=0
  [ "$(grep -c '^not ok' "$report")" -eq "$#" ] && grep -qx '# exit status 1' "$report" || right=1
  names=$*
  for pattern; do
    grep -q "^not ok [0-9]* - .*$pattern" "$report" || right=1
  done
  result "$right" "$fault: $names" "$report"
}

report=$reports/none
grep -qx '# exit status 0' "$report" && ! grep -q '^not ok\|# SKIP' "$report"
result $? "none: every check passes" "$report"
# Counter values state no progress for a source that calls advance().
report=$reports/advance
grep -qx '# exit status 0' "$report" && ! grep -q '^not ok\|# SKIP' "$report"
result $? "advance: every check passes" "$report"
finds default "options and defaults are valid"
finds help "options and defaults are valid"
finds reserved "options and defaults are valid"
finds export "and nothing else"
finds silent "destroy() after configure()"
finds crash "several instances" "destroy() after configure()" "destroy() after probe()" "leaves nothing open" \
  "destroy() after prepare()" "could open nothing" "a whole run" "ids that the host returned" \
  "records are refused"
finds leak "destroy() after prepare()" "a whole run"
finds ignored-write "cannot be written is an error"
finds left-open "an empty profile is written" "unknown records are written"
finds unopened "an empty profile is written" "unknown records are written"
for fault in overread oversize producer empty huge mnemonic close; do
  finds $fault "any code is decoded or refused"
done
finds image "any image is read or refused"
finds id "ids that the host returned"
finds size "records are well formed" "a whole run"
finds future "of the time of the run"
finds past "of the time of the run"
finds value-type "ids that the host returned"
finds enum "enum values and flags of this version"
finds flags "enum values and flags of this version"
finds undeclared "before it refers to them"
finds no-device "before it refers to them"
finds no-kernel "before it refers to them"
finds no-reason "before it refers to them"
finds type "types of this version"
finds outside "code that it has announced"
finds loaded-later "code that it has announced"
finds progress "how far it has come"
finds late-launch "how far it has come"
finds advanced "how far it has come"
finds array "where their arrays begin"
finds details "agree with their address space"
for fault in abi earlier schema plugin-flags operations; do
  ! "$plugin_check" "$folder/iaprof-faulty-$fault.so" >"$report" 2>&1 && [ "$(tail -1 "$reports/$fault")" = '# exit status 1' ]
  result $? "$fault: refused" "$report"
done
finds hang "destroy() after prepare()"
[ "$(grep -c 'SKIP an earlier check took too long' "$report")" -ge 5 ]
result $? "hang: the checks after it are skipped" "$report"
finds check "leaves nothing open"
finds companion "all mandatory members"
finds member "all mandatory members"

report=$reports/report
# The report in JSON has what the one in TAP has.
"$plugin_check" --json "$folder/iaprof-faulty-late-launch.so" >"$report" 2>&1
python3 - "$report" <<'JSON'
import json, sys
with open(sys.argv[1], encoding='utf-8') as file:
    report = json.load(file)
assert report['failed'] == 1 and report['plugin'].endswith('/iaprof-faulty-late-launch.so'), report
failed = [check for check in report['checks'] if check['result'] == 'failed']
assert len(failed) == 1 and 'how far' in failed[0]['check'] and 'LAUNCH record is 1000 ns older' in failed[0]['reason'], failed
assert [check['number'] for check in report['checks']] == list(range(1, len(report['checks']) + 1)), report
JSON
result $? "a report in JSON" "$report"
"$plugin_check" "$folder/no-such-file.so" >"$report" 2>&1
[ $? -eq 2 ]
result $? "a file that is not there is wrong usage" "$report"
"$plugin_check" "$0" >"$report" 2>&1
[ $? -eq 1 ]
result $? "a file that is no plugin fails" "$report"
finish
