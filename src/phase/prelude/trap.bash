# Where the phase is, for the tracer: the stack of the innermost simple command. And notes for the report.

EB_ITEM=$'\x1f' EB_LIST=$'\x1d'
EB_TRAP='EB_AT="${BASH_SOURCE[@]/%/${EB_ITEM}}${EB_LIST}${LINENO}${EB_ITEM}${BASH_LINENO[@]/%/${EB_ITEM}}${EB_LIST}${FUNCNAME[@]/%/${EB_ITEM}}"'

# a note for the report: kind, text, and the place, the folder and the moment (in microseconds) where it happened
eb_note() {
	printf '%s\0%s\0%s\0%s\0%s\0' "$1" "$2" "${EB_AT}" "$(builtin pwd -P)" "${EPOCHREALTIME/[!0-9]}" >> "${EB_CTL}/notes"
}

eb_trace_on() {
	EB_TRACED=1
	set -o functrace
	# the ebuild may change IFS, by which bash joins these: so each item ends with a sign of its own
	builtin trap "${EB_TRAP}" DEBUG
}
eb_trace_off() { EB_TRACED= EB_DEBUG=; builtin trap - DEBUG; set +o functrace; }

# `trap`, such that a trap of the ebuild on DEBUG stands beside ours
trap() {
	local eb_word eb_first= eb_words=() eb_rest=() eb_debug= eb_depth=$(( ${#FUNCNAME[@]} - 1 ))
	for eb_word; do
		case ${eb_word} in
			[Dd][Ee][Bb][Uu][Gg]|SIGDEBUG) [[ -n ${eb_first} ]] && eb_debug=1 || eb_rest+=( "${eb_word}" ) ;;
			--) eb_rest+=( "${eb_word}" ) ;;
			*) eb_first=1; eb_words+=( "${eb_word}" ); eb_rest+=( "${eb_word}" ) ;;
		esac
	done
	# outside of the phases there is no trap of ours
	if [[ -z ${eb_debug} || -z ${EB_TRACED} ]]; then
		builtin trap "$@"
		return
	fi
	case ${eb_words[0]} in
		-p|-l)
			[[ -z ${EB_DEBUG} ]] || printf 'trap -- %q DEBUG\n' "${EB_DEBUG}"
			(( ${#eb_words[@]} == 1 )) || builtin trap "${eb_rest[@]}"
			return ;;
		-) EB_DEBUG= ;;
		*) EB_DEBUG=${eb_words[0]} ;;
	esac
	# ours reaches into functions, theirs holds where it was set
	local eb_both=${EB_TRAP}
	[[ -z ${EB_DEBUG} ]] || eb_both+=$'\n''if (( ${#FUNCNAME[@]} == '${eb_depth}$' )); then\n'${EB_DEBUG}$'\nfi'
	builtin trap "${eb_both}" DEBUG
	(( ${#eb_words[@]} == 1 )) || builtin trap "${eb_rest[@]}"
}
