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
expect -- --budget --cgroup --check --children --config --container --continuous --debuginfod --decoder --diff --duration --eu-stall-subsample --finish-within --help --hold --interval --list --memory --normalize --output --pid --plugin-path --quiet --record --replay --rules --scope --self-test --sink \
	--source --status-file --verbose --version
expect '--children ' no yes
expect '--scope ' auto command system
expect '--scope=c' command
expect '--budget n' none
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

# What the completion of zsh passes to _arguments: each option of --help, with a value if it has one there.
zsh_options() {
	zsh -c '
		emulate zsh -o extended_glob
		service=$1
		_call_program() { shift; "$@" }
		. "$2"
		specifications=()
		_iaprof_options
		print -rl -- $specifications' zsh "$program" "$folder/_iaprof"
}
count=$((count + 1))
if ! command -v zsh >/dev/null; then
	echo "ok $count - zsh completes the options of --help # SKIP zsh is not installed"
elif zsh_options | sed 's/^(- \*)//; s/^\*//; s/\[.*\]\(:\{0,1\}\).*/ \1/; s/=//' | sort >"$scratch/zsh" &&
	_iaprof_options "$program" | sed 's/ \[.*//; s/ .*/ :/; s/[a-z]$/& /' | sort | diff - "$scratch/zsh" >"$scratch/differences"; then
	echo "ok $count - zsh completes the options of --help"
else
	failed=1
	echo "not ok $count - zsh completes the options of --help"
	sed 's/^/# /' "$scratch/differences"
fi
echo "1..$count"
exit $failed
