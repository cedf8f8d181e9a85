# PMS 12.3.3 (messages) and 12.3.6 (die, assert, nonfatal)

einfo() { printf ' * %s\n' "$*"; }
einfon() { printf ' * %s' "$*"; }
elog() { einfo "$@"; }
ewarn() { einfo "$@" >&2; }
eerror() { einfo "$@" >&2; }
eqawarn() { einfo "$@" >&2; }
ebegin() { einfo "$* ..."; }
eend() {
	local status=${1:-0}
	shift
	[[ ${status} == 0 || $# == 0 ]] || eerror "$@"
	return "${status}"
}
debug-print() { :; }
debug-print-function() { :; }
debug-print-section() { :; }

die() {
	if [[ $1 == -n ]]; then
		shift
		if [[ -n ${EB_NONFATAL} ]]; then
			[[ $# == 0 ]] || eerror "$*"
			return 1
		fi
	fi
	# of nested deaths the first one tells the reason
	if [[ ! -s ${EB_CTL}/died ]]; then
		printf '%s\0%s\0' "$*" "${BASH_SOURCE[*]:1:1}|${BASH_LINENO[*]}|${FUNCNAME[*]}" > "${EB_CTL}/died"
	fi
	eerror "died: $*"
	[[ ${BASHPID} == "${EB_PID}" ]] || kill -s TERM "${EB_PID}"
	exit 1
}

assert() {
	local eb_pipe=( "${PIPESTATUS[@]}" ) eb_status
	for eb_status in "${eb_pipe[@]}"; do
		[[ ${eb_status} == 0 ]] || die "$@"
	done
}

nonfatal() {
	(( $# )) || die "nonfatal: no command given"
	local EB_NONFATAL=1
	export EB_NONFATAL
	"$@"
}

# EAPI 9
pipestatus() {
	local eb_pipe=( "${PIPESTATUS[@]}" ) eb_status eb_worst=0
	[[ $1 == -v ]] && echo "${eb_pipe[*]}"
	for eb_status in "${eb_pipe[@]}"; do
		[[ ${eb_status} == 0 ]] || eb_worst=${eb_status}
	done
	return "${eb_worst}"
}
