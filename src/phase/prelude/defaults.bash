# PMS 9.1: the default phase functions, and `default` itself

default() {
	declare -F "default_${EBUILD_PHASE_FUNC}" > /dev/null || die "default: there is none for ${EBUILD_PHASE_FUNC}"
	"default_${EBUILD_PHASE_FUNC}"
}
default_pkg_setup() { :; }
default_src_unpack() {
	[[ -z ${A} ]] || unpack ${A}
}
default_src_prepare() {
	if [[ $(declare -p PATCHES 2> /dev/null) == "declare -a"* ]]; then
		(( ${#PATCHES[@]} )) && eapply -- "${PATCHES[@]}"
	elif [[ -n ${PATCHES} ]]; then
		eapply -- ${PATCHES}
	fi
	eapply_user
}
