# Commands of other phases, and tools that this machine may lack

edo() {
	einfo "$*"
	"$@" || die -n "failed to run: $*"
}
emake() { ${MAKE:-make} ${MAKEOPTS} "$@"; }
econf() { die "econf is not to be called in ${EBUILD_PHASE_FUNC}"; }
einstall() { die "einstall is not to be called in ${EBUILD_PHASE_FUNC}"; }
einstalldocs() { die "einstalldocs is not to be called in ${EBUILD_PHASE_FUNC}"; }
for eb_name in do{bin,sbin,doc,ins,exe,lib.a,lib.so,lib,man,html,info,initd,confd,envd,hard,sym,mo,dir,header,compress,strip} \
	new{bin,sbin,doc,ins,exe,lib.a,lib.so,man,initd,confd,envd,header} keepdir fowners fperms into insinto exeinto docinto \
	insopts diropts exeopts libopts; do
	case ${eb_name} in
		# these only set a destination
		into|insinto|exeinto|docinto|*opts) eval "${eb_name}() { :; }" ;;
		*) eval "${eb_name}() { die \"${eb_name} is not to be called in \${EBUILD_PHASE_FUNC}\"; }" ;;
	esac
done
unset eb_name

# sed by an absolute path passes PATH by
for eb_name in /bin/sed /usr/bin/sed; do
	eval "${eb_name}() { \"\${EB_BIN}/sed\" \"\$@\"; }"
done
unset eb_name

# what regenerates build systems is recorded, not run, where the tools are missing
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
