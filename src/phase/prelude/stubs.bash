# What regenerates build systems is recorded, not run, where the tools are missing

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
