# PMS 12.3.15: unpack, by our own safe unpacker

unpack() {
	(( $# )) || die "unpack: no file given"
	EB_EAPI=${EAPI} "${EB_BIN}/ebaudit-unpack" "$@" || die -n "unpack: failed to unpack $*"
}
