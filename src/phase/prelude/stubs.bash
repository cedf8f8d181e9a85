# What regenerates build systems is recorded, not run, where the tools are missing; so is what else the machine lacks

eb_stub_missing_tools() {
	local eb_fn
	if [[ -n ${EB_STUB_AUTOTOOLS} ]] || ! { type -P autoconf && type -P automake && type -P libtoolize; } > /dev/null; then
		for eb_fn in eautoreconf eaclocal eautoheader eautoconf eautomake _elibtoolize autotools_run_tool; do
			eb_stub "${eb_fn}"
		done
	fi
	type -P eltpatch > /dev/null || eb_stub elibtoolize
	type -P cuda-config > /dev/null || for eb_fn in cuda_gccdir cuda_toolkit_version cuda_cudnn_version; do
		eb_stub "${eb_fn}"
	done
	[[ -d /usr/share/gnuconfig ]] || { eb_stub gnuconfig_update; eb_stub gnuconfig_do_update; }
}
eb_stub() {
	declare -F "$1" > /dev/null || return 0
	eval "$1() { eb_note stubbed '$1'; }"
}

# what a phase of the source calls and is not here: bash runs this in a process of its own
eb_watch_missing() {
	command_not_found_handle() {
		local eb_words eb_use=done eb_out
		# what it needs itself may be missing, too
		unset -f command_not_found_handle
		{ eb_out=$(stat -Lc %d:%i /dev/fd/3 2> /dev/null); } 3>&1
		# its answer is read by something else
		[[ ${eb_out} == "${EB_OUTPUT}" || -f /dev/fd/1 || /dev/fd/1 -ef /dev/null ]] || eb_use=read
		printf -v eb_words '%s\x1f' "${eb_use}" "$@"
		[[ ${EB_PHASE} != src_* ]] || eb_note missing "${eb_words}"
		printf '%s: line %s: %s: command not found\n' "${BASH_SOURCE[1]}" "${BASH_LINENO[0]}" "$1" >&2
		return 127
	}
}
