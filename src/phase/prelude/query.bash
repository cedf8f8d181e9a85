# PMS 12.3.8-12.3.12: USE flags, lists, packages

has() {
	local eb_want=$1 eb_item
	shift
	for eb_item; do
		[[ ${eb_item} == "${eb_want}" ]] && return 0
	done
	return 1
}
hasv() {
	has "$@" && echo "$1"
}

use() {
	local eb_flag=${1#!} eb_on=1
	[[ " ${USE} " == *" ${eb_flag} "* ]] && eb_on=0
	if [[ -n ${EB_IUSE_EFFECTIVE} && " ${EB_IUSE_EFFECTIVE} " != *" ${eb_flag} "* ]]; then
		eb_note use-not-in-iuse "${eb_flag}"
	fi
	[[ $1 == '!'* ]] && return $(( ! eb_on ))
	return "${eb_on}"
}
usev() {
	use "$1" && echo "${2:-${1#!}}"
}
usex() {
	if use "$1"; then echo "${2-yes}$4"; else echo "${3-no}$5"; fi
}
useq() { use "$1"; }
eb_use_word() {
	local eb_yes=$1 eb_no=$2 eb_name=${4:-$3}
	if use "$3"; then echo "--${eb_yes}-${eb_name}${5+=$5}"; else echo "--${eb_no}-${eb_name}"; fi
}
use_with() { eb_use_word with without "$@"; }
use_enable() { eb_use_word enable disable "$@"; }
in_iuse() {
	local eb_flag
	for eb_flag in ${IUSE}; do
		[[ ${eb_flag#[+-]} == "$1" ]] && return 0
	done
	[[ " ${EB_IUSE_EFFECTIVE} " == *" $1 "* ]]
}

# nothing is installed for an audit: what the ebuild asks for is taken to be there
has_version() { return 0; }
best_version() {
	local eb_atom=${*: -1}
	eb_atom=${eb_atom%%[:\[]*}
	echo "${eb_atom##*[<>=~!]}"
}

get_libdir() {
	local eb_var=LIBDIR_${ABI}
	echo "${CONF_LIBDIR_OVERRIDE:-${!eb_var:-lib}}"
}
addread() { :; }
addwrite() { :; }
adddeny() { :; }
addpredict() { :; }
