# --backend portage: sourced by Portage's bashrc before the ebuild is, in every phase. EB_* are set there.

source "${EB_PRELUDE}/trap.bash"
source "${EB_PRELUDE}/stubs.bash"

# Portage loads the functions of an earlier phase from a file, where they have other lines than in the ebuild. The mark
# .ebuild_changed makes it source the ebuild again; eclasses that were sourced "already" must not be left out, and what pkg_setup set is kept
eb_keep() {
	local eb_name
	declare -gA EB_KEPT=()
	for eb_name in $(compgen -v); do
		case ${eb_name} in
			# the shell's own, and what Portage sets for each phase
			PWD|OLDPWD|DIRSTACK|SHLVL|REPLY|OPT*|EBUILD_*|PORTAGE_*|EB_*|eb_*|BASH*|FUNCNAME|PIPESTATUS|RANDOM|SRANDOM|SECONDS|EPOCH*|LINENO|_|IFS|__*|x) continue ;;
			_*_ECLASS) unset "${eb_name}" 2> /dev/null; continue ;;
		esac
		case ${!eb_name@a} in
			*r*) ;;
			*[aA]*) EB_KEPT[${eb_name}]=$(declare -p "${eb_name}") ;;
			*) EB_KEPT[${eb_name}]=${!eb_name} ;;
		esac
	done
}
eb_restore() {
	local eb_name eb_old eb_attributes
	for eb_name in "${!EB_KEPT[@]}"; do
		eb_old=${EB_KEPT[${eb_name}]}
		local -n eb_now=${eb_name}
		eb_attributes=${eb_now@a}
		unset -n eb_now
		[[ ${eb_attributes} == *r* ]] && continue
		if [[ ${eb_old} == "declare -"*[aA]*" ${eb_name}="* ]]; then
			[[ $(declare -p "${eb_name}" 2> /dev/null) == "${eb_old}" ]] || eval "${eb_old/#declare -/declare -g}"
		elif [[ ${!eb_name} != "${eb_old}" ]]; then
			printf -v "${eb_name}" %s "${eb_old}"
		fi
	done
	unset EB_KEPT
}

eb_begin() {
	[[ -z ${EB_KEPT@a} ]] || eb_restore
	export EB_PHASE=${EBUILD_PHASE_FUNC} EB_SHELL=${BASHPID} EB_AT= EB_OUTPUT
	echo "${EBUILD_PHASE_FUNC}" > "${EB_CTL}/phase"
	{ EB_OUTPUT=$(stat -Lc %d:%i /dev/fd/3); } 3>&1
	export PATH=${EB_BIN}:${PATH}
	eb_overrides
	[[ $1 == pkg_setup ]] || eb_stub_missing_tools
	eb_watch_missing
	eb_trace_on
}
eb_end() {
	eb_trace_off
	unset EB_AT
	PATH=${PATH#"${EB_BIN}:"}
	echo src_unpack > "${EB_CTL}/phase"
	: > "${PORTAGE_BUILDDIR}/.ebuild_changed"
}

# functions of Portage's that are defined anew in every phase
eb_overrides() {
	# nothing is installed for an audit: what the ebuild asks for is taken to be there
	has_version() { return 0; }
	best_version() {
		local eb_atom=${*: -1}
		eb_atom=${eb_atom%%[:\[]*}
		echo "${eb_atom##*[<>=~!]}"
	}
	[[ $(declare -f die) == *eb_portage_die* ]] || eval "eb_portage_$(declare -f die)"
	die() {
		if [[ ! ( $1 == -n && ${PORTAGE_NONFATAL} == 1 ) && ! -s ${EB_CTL}/died ]]; then
			local eb_words=( "$@" )
			[[ $1 != -n ]] || eb_words=( "${@:2}" )
			printf '%s\0%s\0' "${eb_words[*]}" "${BASH_SOURCE[*]:1:1}|${BASH_LINENO[*]}|${FUNCNAME[*]}" > "${EB_CTL}/died"
		fi
		eb_portage_die "$@"
	}
	patch() {
		if [[ ${FUNCNAME[1]} == __eapply_patch ]]; then
			EB_PATCH=${patch} command patch "$@"
		else
			command patch "$@"
		fi
	}
	local eb_name
	# sed by an absolute path passes PATH by
	for eb_name in /bin/sed /usr/bin/sed; do
		eval "${eb_name}() { \"\${EB_BIN}/sed\" \"\$@\"; }"
	done
}

pre_pkg_setup() {
	[[ -z ${EB_SKIP_SETUP} ]] || pkg_setup() { :; }
	eb_begin pkg_setup
}
pre_src_unpack() { eb_begin; }
pre_src_prepare() { eb_begin; }
post_pkg_setup() { eb_end; }
post_src_unpack() { eb_end; }
post_src_prepare() { eb_end; }

case ${EBUILD_PHASE} in
	unpack|prepare) eb_keep ;;
esac
