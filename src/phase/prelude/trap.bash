# `trap`, such that a trap of the ebuild on DEBUG stands beside ours, which says where the phase is

EB_TRAP='EB_AT="${BASH_SOURCE[@]/%/${EB_ITEM}}${EB_LIST}${LINENO}${EB_ITEM}${BASH_LINENO[@]/%/${EB_ITEM}}${EB_LIST}${FUNCNAME[@]/%/${EB_ITEM}}"'

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
