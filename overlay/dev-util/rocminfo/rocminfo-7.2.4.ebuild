# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Lister of what the HSA runtime sees"
HOMEPAGE="https://example.org/rocm/rocminfo"
SRC_URI="https://example.org/rocm/rocm-systems/releases/rocm-${PV}/rocminfo.tar.gz -> rocminfo-${PV}.tar.gz"
S="${WORKDIR}/${PN}"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

RDEPEND="dev-libs/rocr-runtime:${SLOT}"
DEPEND="${RDEPEND}"

src_prepare() {
	sed -e "/CPACK_RESOURCE_FILE_LICENSE/d" -i CMakeLists.txt || die
	sed -e "/num_change_since_prev_pkg(/cset(NUM_COMMITS 0)" -i cmake_modules/utils.cmake || die

	default
}
