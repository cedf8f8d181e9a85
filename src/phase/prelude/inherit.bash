# PMS 10: eclasses, and the metadata that they add to

EB_ADDED=( IUSE REQUIRED_USE DEPEND RDEPEND BDEPEND PDEPEND IDEPEND )
[[ ${EAPI} == 7 ]] || EB_ADDED+=( PROPERTIES RESTRICT )

inherit() {
	(( $# )) || die "inherit: no eclass given"
	local eb_name
	for eb_name; do
		eb_inherit_one "${eb_name}"
	done
}

eb_inherit_one() {
	local ECLASS=$1 eb_dir eb_path= eb_var
	while read -r eb_dir; do
		[[ -f ${eb_dir}/$1.eclass ]] && { eb_path=${eb_dir}/$1.eclass; break; }
	done <<< "${EB_ECLASS_DIRS}"
	if [[ -z ${eb_path} ]]; then
		printf '%s\n' "$1" > "${EB_CTL}/no-eclass"
		die "eclass $1 is not to be found"
	fi
	local EB_EXPORTED= eb_glob=
	# the metadata of the eclass is gathered apart, so that its assignments do not overwrite the ebuild's
	for eb_var in "${EB_ADDED[@]}"; do
		local "eb_old_${eb_var}=${!eb_var-EB_UNSET}"
		unset "${eb_var}"
	done
	[[ -o noglob ]] && eb_glob=1
	source "${eb_path}" || die "eclass $1 could not be sourced"
	[[ -n ${eb_glob} ]] || set +o noglob
	for eb_var in "${EB_ADDED[@]}"; do
		local eb_added=EB_E_${eb_var} eb_old=eb_old_${eb_var}
		[[ -z ${!eb_var} ]] || printf -v "${eb_added}" '%s%s%s' "${!eb_added}" "${!eb_added:+ }" "${!eb_var}"
		if [[ ${!eb_old} == EB_UNSET ]]; then unset "${eb_var}"; else printf -v "${eb_var}" %s "${!eb_old}"; fi
	done
	local eb_fn
	for eb_fn in ${EB_EXPORTED}; do
		declare -F "$1_${eb_fn}" > /dev/null || die "EXPORT_FUNCTIONS: $1_${eb_fn} is not defined"
		eval "${eb_fn}() { $1_${eb_fn} \"\$@\"; }"
	done
	[[ " ${INHERITED} " == *" $1 "* ]] || INHERITED+="${INHERITED:+ }$1"
}

EXPORT_FUNCTIONS() { EB_EXPORTED+=" $*"; }

eb_add_inherited() {
	local eb_var eb_added
	for eb_var in "${EB_ADDED[@]}"; do
		eb_added=EB_E_${eb_var}
		[[ -z ${!eb_added} ]] || printf -v "${eb_var}" '%s%s%s' "${!eb_var}" "${!eb_var:+ }" "${!eb_added}"
	done
}

# the keys of an md5-cache entry, NUL-terminated
eb_print_metadata() {
	local eb_var eb_defined= eb_fn
	for eb_var in DEPEND RDEPEND BDEPEND PDEPEND IDEPEND SLOT SRC_URI RESTRICT HOMEPAGE LICENSE DESCRIPTION KEYWORDS \
		IUSE REQUIRED_USE PROPERTIES EAPI INHERITED S; do
		printf '%s=%s\0' "${eb_var}" "${!eb_var}"
	done
	for eb_fn in pkg_pretend pkg_setup src_unpack src_prepare src_configure src_compile src_test src_install; do
		declare -F "${eb_fn}" > /dev/null && eb_defined+="${eb_defined:+ }${eb_fn#*_}"
	done
	printf 'DEFINED_PHASES=%s\0' "${eb_defined:--}"
}
