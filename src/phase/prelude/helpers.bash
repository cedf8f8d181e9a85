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
