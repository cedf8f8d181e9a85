# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Matrix cores as C++ templates"
HOMEPAGE="https://example.org/rocm/rocWMMA"
SRC_URI="https://example.org/rocm/rocm-libraries/releases/rocm-${PV}/rocwmma.tar.gz -> rocwmma-${PV}.tar.gz"
S="${WORKDIR}/rocwmma"

LICENSE="MIT"
SLOT="0/7.2"
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
