# PMS 12.3.4: eapply and eapply_user

eapply() {
	local eb_options=() eb_path eb_file eb_some eb_status=0
	while (( $# )) && [[ $1 == -* ]]; do
		if [[ $1 == -- ]]; then shift; break; fi
		eb_options+=( "$1" )
		shift
	done
	for eb_path; do
		[[ ${eb_path} == -* ]] && die "eapply: options must stand before the files: ${eb_path}"
	done
	(( $# )) || die "eapply: no patch given"
	for eb_path; do
		if [[ -d ${eb_path} ]]; then
			eb_some=
			while IFS= read -r -d '' eb_file; do
				eb_some=1
				eb_patch "${eb_file}" || return
			done < <(LC_ALL=C; for eb_file in "${eb_path}"/*; do
				[[ ${eb_file} == *.diff || ${eb_file} == *.patch ]] && printf '%s\0' "${eb_file}"; done)
			[[ -n ${eb_some} ]] || { die -n "eapply: no *.patch or *.diff in ${eb_path}" || return; }
		else
			eb_patch "${eb_path}" || return
		fi
	done
}

# one patch, with eapply's options in eb_options
eb_patch() {
	if [[ ! -f $1 ]]; then
		eb_note patch-gone "$1"
		die -n "eapply: $1 is not there" || return
	fi
	einfo "Applying ${1##*/} ..."
	# a dry run first would be wrong for a series that touches one file twice
	EB_PATCH=$1 patch -p1 -f -g0 --no-backup-if-mismatch "${eb_options[@]}" < "$1" || die -n "eapply: patch failed with $1"
}

# users' patches are theirs; an audit has none
eapply_user() { EB_USER_DONE=1; }
