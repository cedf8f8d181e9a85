# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Thunk between the HSA runtime and the kernel driver"
HOMEPAGE="https://example.org/rocm/roct-thunk-interface"
SRC_URI="https://example.org/rocm/rocm-systems/releases/rocm-${PV}/rocr-runtime.tar.gz -> rocr-runtime-${PV}.tar.gz"
S="${WORKDIR}/rocr-runtime"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

PATCHES=(
	"${FILESDIR}"/${PN}-7.2.3-bounded-path.patch
)

src_prepare() {
	sed -e "s/get_version ( \"1.0.0\" )/get_version ( \"${PV}\" )/" -i CMakeLists.txt || die
	sed -e "s/\${HSAKMT_TARGET} STATIC/\${HSAKMT_TARGET}/" -i CMakeLists.txt || die

	default
}
