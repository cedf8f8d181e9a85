# Runs one ebuild: sources it, then its phases up to src_prepare, as PMS says and as much as an audit needs.
#
# Started by phase/runner.rs with a clean environment; EB_* are its words to us. What we have to say goes to files
# below EB_CTL: `died` (message and stack), `notes` (what the trace can't see), `metadata`. The functions that PMS
# promises to ebuilds are in the files beside this one.

shopt -s extglob
set +o posix
umask 022
EB_PID=${BASHPID}
export EB_SHELL=${EB_PID}
trap 'exit 1' TERM

# hand over to the runner and wait until it is done with its part; it may say that this is the end
eb_checkpoint() {
	# the ebuild may have functions of these names
	builtin local eb_answer
	builtin echo "$1" > "${EB_CTL}/tell" && builtin read -r eb_answer < "${EB_CTL}/answer"
	[[ ${eb_answer} == go ]] || exit 0
}

eb_phase() {
	local eb_failed
	export EBUILD_PHASE_FUNC=$1 EBUILD_PHASE=${1#*_} EB_PHASE=$1
	echo "$1" > "${EB_CTL}/phase"
	eb_trace_on
	"$1"
	eb_failed=$?
	eb_trace_off
	return "${eb_failed}"
}

for eb_file in "${EB_PRELUDE}"/{trap,output,query,version,inherit,unpack,patch,helpers,stubs,defaults,state}.bash; do
	source "${eb_file}" || exit 70
done
unset eb_file
export EB_AT

cd "${WORKDIR}" || exit 70
EBUILD_PHASE=depend EBUILD_PHASE_FUNC=
# not in a function, where `declare` in the ebuild would make local variables
shopt -s failglob
source "${EB_EBUILD}"
echo "$?" > "${EB_CTL}/sourced"
shopt -u failglob
eb_add_inherited
: "${S:=${WORKDIR}/${P}}"

eb_print_metadata > "${EB_CTL}/metadata"
# the runner works out USE and A, brings the distfiles, unpacks them where the ebuild leaves that to the default
eb_checkpoint sourced
# what WORKDIR is now may have been mounted over what it was
cd "${WORKDIR}" || exit 70
source "${EB_CTL}/variables" || exit 70
export S A USE
if [[ -n ${EB_PORTAGE} ]]; then
	source "${EB_PRELUDE}/portage.bash"
	exit 0
fi
eb_stub_missing_tools
eb_watch_missing

if [[ -z ${EB_SKIP_SETUP} ]] && declare -F pkg_setup > /dev/null; then
	eb_phase pkg_setup
	# a helper may have left its mark, which says nothing of the phases to come
	cd "${WORKDIR}" || exit 70
fi
echo > "${EB_CTL}/setup-done"
eb_own_phases=$(declare -F src_unpack src_prepare)
if [[ -z ${EB_UNPACKED} ]]; then
	cd "${WORKDIR}" || exit 70
	declare -F src_unpack > /dev/null || src_unpack() { default; }
	if [[ -e ${EB_CTL}/keep ]]; then
		eb_tell_state before
		eb_checkpoint unpack
		cd "${WORKDIR}" || exit 70
	fi
	if [[ -e ${EB_CTL}/known ]]; then
		# an earlier run of this very src_unpack: WORKDIR is there, and this makes the shell what it was at its end
		echo src_unpack > "${EB_CTL}/phase"
		source "${EB_CTL}/known" || exit 70
	else
		eb_phase src_unpack
		[[ ! -e ${EB_CTL}/keep ]] || eb_tell_state after
	fi
fi
# each phase finds its programs anew, as with Portage
hash -r
eb_checkpoint unpacked
# PMS 9.1.3: S may be missing only where nothing was to be unpacked
if [[ ! -d ${S} && -z ${A} && -z ${eb_own_phases} ]]; then
	S=${WORKDIR}
fi
[[ -d ${S} ]] && cd "${S}" || { eb_note no-source "${S}"; exit 74; }
declare -F src_prepare > /dev/null || src_prepare() { default; }
eb_phase src_prepare
[[ -n ${EB_USER_DONE} ]] || die "eapply_user (or default) must be called in src_prepare"
echo > "${EB_CTL}/prepared"
exit 0
