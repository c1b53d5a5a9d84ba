# SPDX-License-Identifier: Apache-2.0
# Bash completion for iaprof. Options come from iaprof --help all, plugins from iaprof --list, a plugin's keys and their
# values from iaprof --help NAME: what is completed here is what is there.

# _iaprof_plugins IAPROF [KIND]: the names of the plugins of a kind, or of all.
_iaprof_plugins() {
	"$1" --list 2>/dev/null | awk -v kind="${2-}" '
		/^[A-Z]/ { group = tolower($1); sub(/s,$/, "", group) }
		/^  [^ ]/ && (kind == "" || group == kind) { print $1 }'
}

# _iaprof_options IAPROF: each option in a line, as "-p" and as "--pid", with the argument that --help names.
_iaprof_options() {
	"$1" --help all 2>/dev/null | awk '/^  (-[a-z],|   ) --/ {
		option = substr($0, 7)
		sub(/  .*/, "", option)
		print option
		if (sub(/^--[a-z-]*/, substr($0, 3, 2), option) && substr($0, 3, 1) == "-")
			print option
	}'
}

# _iaprof_keys IAPROF PLUGIN: its keys as "key=" and, in the same line, the values that --help lists.
_iaprof_keys() {
	"$1" --help "$2" 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9-]*=\)\([^ ]*\).*/\1 \2/p'
}

# _iaprof_argument IAPROF KIND WORD: completes NAME[:key=value[,key=value]...].
_iaprof_argument() {
	local program=$1 kind=$2 word=$3 plugin settings before last key value
	if [[ $word != *:* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_iaprof_plugins "$program" "$kind")" -- "$word")
		compopt -o nospace 2>/dev/null
		return
	fi
	plugin=${word%%:*}
	settings=${word#*:}
	last=${settings##*,}
	before=$plugin:${settings%"$last"}
	[[ $plugin == */* ]] || plugin=${plugin%%.*}
	compopt -o nospace 2>/dev/null
	if [[ $last != *=* ]]; then
		mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(_iaprof_keys "$program" "$plugin" | cut -d' ' -f1)" -- "$last")
		return
	fi
	key=${last%%=*}
	value=${last#*=}
	local choices
	choices=$(_iaprof_keys "$program" "$plugin" | awk -v key="$key=" '$1 == key && $2 ~ /\|/ { gsub(/\|/, " ", $2); print $2 }')
	if [[ -n $choices ]]; then
		mapfile -t COMPREPLY < <(compgen -P "$before$key=" -W "$choices" -- "$value")
	elif [[ $key == output || $key == file ]]; then
		mapfile -t COMPREPLY < <(compgen -P "$before$key=" -f -- "$value")
	fi
}

# _iaprof_trim WORD: readline replaces only what follows the last ':' or '=' of the word, where these break words.
_iaprof_trim() {
	local word=$1 prefix= i
	[[ $COMP_WORDBREAKS == *=* && $word == *=* ]] && prefix=${word%"${word##*=}"}
	if [[ $COMP_WORDBREAKS == *:* && $word == *:* ]]; then
		local colon=${word%"${word##*:}"}
		((${#colon} > ${#prefix})) && prefix=$colon
	fi
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"$prefix"}
	done
}

# Sets words to the command line as a shell sees it: readline has also split it at ':' and '='.
_iaprof_words() {
	local line=${COMP_LINE:0:COMP_POINT}
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
}

_iaprof() {
	local program=$1 words=() word previous attached= i
	COMPREPLY=()
	_iaprof_words
	word=${words[-1]}
	previous=${words[-2]-}

	local -A takes=()
	local option argument
	while read -r option argument; do
		takes[$option]=$argument
	done < <(_iaprof_options "$program")

	# Behind the first word that is no option, the command is somebody else's business.
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		case ${words[i]} in
		--) break ;;
		--*=*) ;;
		-*)
			case ${takes[${words[i]}]-} in
			'' | '['*) ;;
			*' '*) ((i += 2)) ;;
			*) ((i++)) ;;
			esac
			;;
		*) [[ ${words[i - 1]} == -h || ${words[i - 1]} == --help ]] || break ;;
		esac
	done
	if ((i < ${#words[@]} - 1)); then
		[[ ${words[i]} == -- ]] && ((i++))
		if ((i == ${#words[@]} - 1)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$word")
		else
			compopt -o default 2>/dev/null
		fi
		return
	fi

	if [[ $word == --*=* ]]; then
		previous=${word%%=*}
		attached=$previous=
		word=${word#*=}
	fi
	((${#words[@]} > 2)) && [[ ${takes[${words[-3]}]-} == *' '* ]] && previous=${words[-3]}
	case "$previous ${takes[$previous]-}" in
	'-s '* | '--source '*) _iaprof_argument "$program" source "$word" ;;
	'-k '* | '--sink '*) _iaprof_argument "$program" sink "$word" ;;
	'--decoder '*) _iaprof_argument "$program" decoder "$word" ;;
	*'|PLUGIN]') mapfile -t COMPREPLY < <(compgen -W "all $(_iaprof_plugins "$program")" -- "$word") ;;
	*'|'*)
		# A word in upper case stands for something.
		mapfile -t COMPREPLY < <(compgen -W "$(tr '|' '\n' <<<"${takes[$previous]}" | grep -v '[A-Z]')" -- "$word")
		;;
	*' PID'*)
		mapfile -t COMPREPLY < <(compgen -P "${word%"${word##*,}"}" -W "$(ps -eo pid= 2>/dev/null)" -- "${word##*,}")
		;;
	'--record '*)
		if [[ $word == *,* ]]; then
			_iaprof_argument "$program" sink "capture:${word#*,}"
			COMPREPLY=("${COMPREPLY[@]/#capture:/${word%%,*},}")
		else
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
		fi
		;;
	*' FILE' | *' PATH' | *' BEFORE AFTER')
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	*' DIR')
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		;;
	*' '[A-Z]*) ;;
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(printf '%s\n' "${!takes[@]}" | grep '^--')" -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$word")
		fi
		;;
	esac
	COMPREPLY=("${COMPREPLY[@]/#/$attached}")
	_iaprof_trim "$attached$word"
}

complete -F _iaprof iaprof
