# PMS 12.3.14: version manipulation

# into eb_parts: separator, component, separator, component, …, last separator
eb_ver_split() {
	local eb_v=$1
	eb_parts=()
	[[ ${eb_v} =~ ^([^A-Za-z0-9]*) ]]
	eb_parts+=( "${BASH_REMATCH[1]}" )
	eb_v=${eb_v:${#BASH_REMATCH[1]}}
	while [[ -n ${eb_v} ]]; do
		[[ ${eb_v} =~ ^([0-9]+|[A-Za-z]+)([^A-Za-z0-9]*) ]] || break
		eb_parts+=( "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" )
		eb_v=${eb_v:${#BASH_REMATCH[0]}}
	done
}

# into eb_from, eb_to: the components that RANGE names of eb_count
eb_ver_range() {
	[[ $1 =~ ^([0-9]+)(-([0-9]*))?$ ]] || die "${FUNCNAME[1]}: bad range: $1"
	eb_from=${BASH_REMATCH[1]}
	if [[ -z ${BASH_REMATCH[2]} ]]; then eb_to=${eb_from}; else eb_to=${BASH_REMATCH[3]:-${eb_count}}; fi
	(( 10#${eb_from} <= 10#${eb_to} )) || (( 10#${eb_from} > eb_count )) || die "${FUNCNAME[1]}: bad range: $1"
	(( eb_to > eb_count )) && eb_to=${eb_count}
	return 0
}

ver_cut() {
	local eb_parts eb_from eb_to eb_count eb_i eb_out=
	eb_ver_split "${2-${PV}}"
	eb_count=$(( (${#eb_parts[@]} - 1) / 2 ))
	eb_ver_range "$1"
	(( eb_from > eb_count )) && { echo; return; }
	if (( eb_from == 0 )); then eb_i=0; else eb_i=$(( eb_from * 2 - 1 )); fi
	for (( ; eb_i <= eb_to * 2 - 1; eb_i++ )); do eb_out+=${eb_parts[eb_i]}; done
	# a range that reaches the end takes what stands behind it, too
	[[ $1 == *- && ${eb_to} == "${eb_count}" ]] && eb_out+=${eb_parts[eb_count * 2]}
	echo "${eb_out}"
}

ver_rs() {
	local eb_parts eb_from eb_to eb_count eb_i eb_version=${PV}
	(( $# % 2 )) && eb_version=${*: -1}
	eb_ver_split "${eb_version}"
	eb_count=$(( (${#eb_parts[@]} - 1) / 2 ))
	while (( $# >= 2 )); do
		eb_ver_range "$1"
		for (( eb_i = eb_from; eb_i <= eb_to; eb_i++ )); do
			# the places before the first and behind the last component count only where something stands there
			if (( eb_i == 0 || eb_i == eb_count )); then [[ -n ${eb_parts[eb_i * 2]} ]] || continue; fi
			eb_parts[eb_i * 2]=$2
		done
		shift 2
	done
	local IFS=
	echo "${eb_parts[*]}"
}

eb_ver_number() {
	local eb_a=${1##+(0)} eb_b=${2##+(0)}
	(( ${#eb_a} != ${#eb_b} )) && { (( ${#eb_a} > ${#eb_b} )) && eb_cmp=1 || eb_cmp=-1; return; }
	if [[ ${eb_a} > ${eb_b} ]]; then eb_cmp=1; elif [[ ${eb_a} < ${eb_b} ]]; then eb_cmp=-1; else eb_cmp=0; fi
}

# eb_cmp: -1, 0 or 1 (PMS 3.3)
eb_ver_compare() {
	local LC_ALL=C eb_re='^([0-9]+(\.[0-9]+)*)([a-z]?)((_(alpha|beta|pre|rc|p)[0-9]*)*)(-r([0-9]+))?$'
	[[ $1 =~ ${eb_re} ]] || die "ver_test: not a version: $1"
	local eb_an=${BASH_REMATCH[1]} eb_al=${BASH_REMATCH[3]} eb_as=${BASH_REMATCH[4]} eb_ar=${BASH_REMATCH[8]:-0}
	[[ $2 =~ ${eb_re} ]] || die "ver_test: not a version: $2"
	local eb_bn=${BASH_REMATCH[1]} eb_bl=${BASH_REMATCH[3]} eb_bs=${BASH_REMATCH[4]} eb_br=${BASH_REMATCH[8]:-0}
	local IFS=. eb_i eb_x eb_y
	local -a eb_ac=( ${eb_an} ) eb_bc=( ${eb_bn} )
	eb_ver_number "${eb_ac[0]}" "${eb_bc[0]}"
	[[ ${eb_cmp} == 0 ]] || return 0
	for (( eb_i = 1; eb_i < ${#eb_ac[@]} && eb_i < ${#eb_bc[@]}; eb_i++ )); do
		eb_x=${eb_ac[eb_i]} eb_y=${eb_bc[eb_i]}
		if [[ ${eb_x} == 0* || ${eb_y} == 0* ]]; then
			eb_x=${eb_x%%+(0)} eb_y=${eb_y%%+(0)}
			if [[ ${eb_x} > ${eb_y} ]]; then eb_cmp=1; elif [[ ${eb_x} < ${eb_y} ]]; then eb_cmp=-1; fi
		else
			eb_ver_number "${eb_x}" "${eb_y}"
		fi
		[[ ${eb_cmp} == 0 ]] || return 0
	done
	(( ${#eb_ac[@]} > ${#eb_bc[@]} )) && { eb_cmp=1; return; }
	(( ${#eb_ac[@]} < ${#eb_bc[@]} )) && { eb_cmp=-1; return; }
	[[ ${eb_al} > ${eb_bl} ]] && { eb_cmp=1; return; }
	[[ ${eb_al} < ${eb_bl} ]] && { eb_cmp=-1; return; }
	IFS=_
	eb_ac=( ${eb_as#_} ) eb_bc=( ${eb_bs#_} )
	for (( eb_i = 0; eb_i < ${#eb_ac[@]} || eb_i < ${#eb_bc[@]}; eb_i++ )); do
		# the end stands between rc and p
		eb_x=${eb_ac[eb_i]-end} eb_y=${eb_bc[eb_i]-end}
		local -A eb_rank=( [alpha]=0 [beta]=1 [pre]=2 [rc]=3 [end]=4 [p]=5 )
		eb_cmp=$(( eb_rank[${eb_x%%+([0-9])}] - eb_rank[${eb_y%%+([0-9])}] ))
		(( eb_cmp > 0 )) && eb_cmp=1
		(( eb_cmp < 0 )) && eb_cmp=-1
		[[ ${eb_cmp} == 0 && ${eb_x} != end ]] && eb_ver_number "${eb_x##+([a-z])}" "${eb_y##+([a-z])}"
		[[ ${eb_cmp} == 0 ]] || return 0
	done
	eb_ver_number "${eb_ar}" "${eb_br}"
}

ver_test() {
	local eb_a=${PVR} eb_op eb_b eb_cmp=0
	case $# in
		2) eb_op=$1 eb_b=$2 ;;
		3) eb_a=$1 eb_op=$2 eb_b=$3 ;;
		*) die "ver_test: wrong number of arguments" ;;
	esac
	eb_ver_compare "${eb_a}" "${eb_b}"
	case ${eb_op} in
		-eq) (( eb_cmp == 0 )) ;;
		-ne) (( eb_cmp != 0 )) ;;
		-lt) (( eb_cmp < 0 )) ;;
		-le) (( eb_cmp <= 0 )) ;;
		-gt) (( eb_cmp > 0 )) ;;
		-ge) (( eb_cmp >= 0 )) ;;
		*) die "ver_test: unknown operator ${eb_op}" ;;
	esac
}

# EAPI 9: in an audit nothing is replaced
ver_replacing() { return 1; }
