#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completes lines as bash would, with the real iaprof: test_completions.sh IAPROF COMPLETIONS-FOLDER. TAP.
program=$1
folder=$2
count=0
failed=0

if [[ ! -x $program ]]; then
	echo "1..0 # SKIP $program is not built"
	exit 0
fi
# shellcheck source=/dev/null
. "$folder/iaprof.bash"
# Outside of a completion bash refuses compopt.
# shellcheck disable=SC2317 # the completion calls it
compopt() { :; }

# expect LINE REPLY...: what is offered at the end of the line, sorted.
expect() {
	local line=$1 wanted found
	shift
	wanted=$(printf '%s\n' "$@")
	COMP_LINE="iaprof $line" COMP_POINT=$((${#line} + 7)) COMPREPLY=()
	_iaprof "$program" 2>"$scratch/errors"
	found=$(
		cat "$scratch/errors" # nothing: it would be printed into the line
		printf '%s\n' "${COMPREPLY[@]}" | sort -u
	)
	count=$((count + 1))
	if [[ $found == "$wanted" ]]; then
		echo "ok $count - '$line'"
	else
		failed=1
		echo "not ok $count - '$line'"
		diff <(echo "$wanted") <(echo "$found") | sed 's/^/# /'
	fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
touch "$scratch/one.ini"

expect --re --record --replay
expect -- --budget --cgroup --check --children --config --container --continuous --debuginfod --decoder --diff --duration --eu-stall-subsample --finish-within --help --hold --interval --list --memory --new-plugin --normalize --output --pid --plugin-path --quiet --record --replay --scope --sink \
	--source --verbose --version
expect '--children ' no yes
expect '--scope ' command system
expect '--scope=c' command
expect '--new-plugin s' sink source
expect '--normalize t' total
expect "--diff $scratch/o" "$scratch/one.ini"
expect "--diff before $scratch/o" "$scratch/one.ini"
expect "--diff before after -k fold" folded
expect '-v -k fold' folded
expect '--sink fold' folded
expect '--sink=fold' folded
expect '-k to' top
expect '-k top:table=' auto calls counters findings functions instructions kernels processes reasons stacks
expect '-s fold' ''
expect '-s repl' replay
expect '--help fold' folded
expect '-k folded:ann' annotate=
expect '-k folded:annotate=' no yes
expect '-k folded.second:annotate=y' yes
expect '-k folded:lines=yes,ann' yes,annotate=
expect '-k folded:lines=yes,pid=' auto no yes
expect "-k folded:output=$scratch/o" "$scratch/one.ini"
expect "-c $scratch/o" "$scratch/one.ini"
expect '-d 1s ' "$(compgen -c | sort -u)"
expect '-d 1s -- sha256su' sha256sum
expect 'sleep -' ''
# Without ':' and '=' among the characters that break words, the reply is the whole word.
COMP_WORDBREAKS=' '
expect '-k folded:lines=yes,ann' folded:lines=yes,annotate=
expect '--sink=fold' --sink=folded

# The completion of zsh is a list: of the options of --help, and with the default of each.
count=$((count + 1))
if python3 - "$program" "$folder/_iaprof" >"$scratch/differences" <<'PYTHON'; then
import re
import subprocess
import sys
text = subprocess.run([sys.argv[1], '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
helps = {match[1]: ' '.join(match[2].split()) for match in re.finditer(
    r'^ {2,6}(?:-\w, )?--([a-z-]+)((?:.*\n)(?: {20,}.*\n)*)', text, re.M)}
listed = {}
with open(sys.argv[2], encoding='utf-8') as file:
    for line in file:
        for name in re.findall(r'--([a-z-]+)=?\[', line) or re.findall(r"\{(?:-\w,)?--([a-z-]+)=?\}'\[", line):
            listed[name] = line
wrong = [f'{name}: only in one of them' for name in sorted(helps.keys() ^ listed.keys())]
for name in helps.keys() & listed.keys():
    default = re.search(r'\(?default ([^ ;),.]+)', helps[name])
    values = re.search(r'\]:.*\((.*)\)', listed[name])
    if default and values and default[1] not in re.split('[ ,;]+', values[1]):
        wrong.append(f'{name}: default {default[1]}, not in: {listed[name].strip()}')
print('\n'.join(wrong))
sys.exit(len(helps) < 20 or bool(wrong))
PYTHON
	echo "ok $count - zsh has the options and defaults of --help"
else
	failed=1
	echo "not ok $count - zsh has the options and defaults of --help"
	sed 's/^/# /' "$scratch/differences"
fi

if command -v zsh >/dev/null; then
	count=$((count + 1))
	if zsh -n "$folder/_iaprof"; then
		echo "ok $count - zsh reads its completion"
	else
		failed=1
		echo "not ok $count - zsh reads its completion"
	fi
else
	count=$((count + 1))
	echo "ok $count - zsh reads its completion # SKIP zsh is not installed"
fi
echo "1..$count"
exit $failed
