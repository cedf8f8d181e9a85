# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

SYSTEMS_COMMIT="6b0e43f341195e203754e08f850e437ff2fc09f9"

DESCRIPTION="HSA runtime of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocr-runtime"
SRC_URI="https://example.org/rocm/rocm-systems/archive/${SYSTEMS_COMMIT}.tar.gz -> rocm-systems-${PV}.tar.gz"
S="${WORKDIR}/rocm-systems-${SYSTEMS_COMMIT}/projects/rocr-runtime"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

RDEPEND="
	dev-libs/rocm-device-libs:${SLOT}
	dev-libs/roct-thunk-interface:${SLOT}
"
DEPEND="${RDEPEND}"

PATCHES=(
	"${FILESDIR}"/${PN}-7.2.4-unset-tools-lib.patch
)

src_prepare() {
	default

	sed -e "s:-O2:--rocm-path=${EPREFIX}/usr/lib/ -O2:" \
		-i runtime/hsa-runtime/image/blit_src/CMakeLists.txt || die
}
