# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

SYSTEMS_COMMIT="6b0e43f341195e203754e08f850e437ff2fc09f9"

DESCRIPTION="Thunk between the HSA runtime and the kernel driver"
HOMEPAGE="https://example.org/rocm/roct-thunk-interface"
SRC_URI="https://example.org/rocm/rocm-systems/archive/${SYSTEMS_COMMIT}.tar.gz -> rocm-systems-${PV}.tar.gz"
S="${WORKDIR}/rocm-systems-${SYSTEMS_COMMIT}/projects/rocr-runtime"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

PATCHES=(
	"${FILESDIR}"/${PN}-7.2.3-bounded-path.patch
)

src_prepare() {
	sed -e "s/get_version ( \"1.0.0\" )/get_version ( \"${PV}\" )/" -i CMakeLists.txt || die
	sed -e "s/\${HSAKMT_TARGET} STATIC/\${HSAKMT_TARGET}/" -i CMakeLists.txt || die

	default
}
