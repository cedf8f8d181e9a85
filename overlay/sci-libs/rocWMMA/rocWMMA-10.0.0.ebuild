# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LIBRARIES_COMMIT="8d1ae90eff7d022f26019ec55b2ec6a7674b3112"

DESCRIPTION="Matrix cores as C++ templates"
HOMEPAGE="https://example.org/rocm/rocWMMA"
SRC_URI="https://example.org/rocm/rocm-libraries/archive/${LIBRARIES_COMMIT}.tar.gz -> rocm-libraries-${PV}.tar.gz"
S="${WORKDIR}/rocm-libraries-${LIBRARIES_COMMIT}/projects/rocwmma"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"
IUSE="test"
RESTRICT="!test? ( test )"

RDEPEND="
	dev-util/hip:${SLOT}
	dev-util/rocm-smi:${SLOT}
"
DEPEND="${RDEPEND}"
BDEPEND="
	dev-build/rocm-cmake
	test? ( sci-libs/rocBLAS:${SLOT} )
"

src_prepare() {
	sed -e "s/ -parallel-jobs=4//" \
		-e "s/ -Xclang -fallow-half-arguments-and-returns//" \
		-i CMakeLists.txt || die

	default
}
