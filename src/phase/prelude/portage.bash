# --backend portage: the phases by ebuild(1), each of which calls back into hooks.bash
#
# The ebuild is sourced already, for what the runner has to know; what it set must not reach Portage.

mapfile -t eb_command <<< "${EB_PORTAGE}"
eb_portage() {
	env -i HOME="${HOME}" TERM=dumb NO_COLOR=1 NOCOLOR=1 LC_ALL=C.UTF-8 PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1 \
		PATH="${EB_PORTAGE_CONFIG}/bin:${EB_PORTAGE_PATH}" PORTAGE_CONFIGROOT="${EB_PORTAGE_CONFIG}" \
		"${eb_command[@]}" --skip-manifest "${EB_EBUILD}" "$@"
	eb_status=$?
	# without a message the last line that was printed is the reason
	(( eb_status == 0 )) || { [[ -s ${EB_CTL}/died ]] || printf '\0\0' > "${EB_CTL}/died"; exit 1; }
}

echo src_unpack > "${EB_CTL}/phase"
if [[ -n ${EB_UNPACKED} ]]; then
	eb_portage setup
	: > "${EB_PORTAGE_BUILD}/.unpacked"
else
	# where there is a WORKDIR already Portage cleans up first, and takes the folder with it that was made for it
	cd "${EB_PORTAGE_BUILD}" && rm -rf "${WORKDIR}"
	eb_portage unpack
fi
eb_checkpoint unpacked
echo src_prepare > "${EB_CTL}/phase"
eb_portage prepare
echo > "${EB_CTL}/prepared"
