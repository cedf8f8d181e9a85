# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

SYSTEMS_COMMIT="6b0e43f341195e203754e08f850e437ff2fc09f9"

DESCRIPTION="Lister of what the HSA runtime sees"
HOMEPAGE="https://example.org/rocm/rocminfo"
SRC_URI="https://example.org/rocm/rocm-systems/archive/${SYSTEMS_COMMIT}.tar.gz -> rocm-systems-${PV}.tar.gz"
S="${WORKDIR}/rocm-systems-${SYSTEMS_COMMIT}/projects/rocminfo"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

RDEPEND="dev-libs/rocr-runtime:${SLOT}"
DEPEND="${RDEPEND}"

src_prepare() {
	sed -e "/CPACK_RESOURCE_FILE_LICENSE/d" -i CMakeLists.txt || die
	sed -e "/num_change_since_prev_pkg(/cset(NUM_COMMITS 0)" -i cmake_modules/utils.cmake || die

	default
}
