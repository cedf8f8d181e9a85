# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="BLAS of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocBLAS"
SRC_URI="https://example.org/rocm/rocm-libraries/releases/rocm-${PV}/rocblas.tar.gz -> rocblas-${PV}.tar.gz"
S="${WORKDIR}/rocblas"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"
IUSE="benchmark test"
RESTRICT="!test? ( test )"

RDEPEND="
	dev-util/hip:${SLOT}
	benchmark? ( dev-util/rocm-smi:${SLOT} )
"
DEPEND="${RDEPEND}
	dev-util/Tensile:${SLOT}
	test? ( dev-util/rocm-smi:${SLOT} )
"
BDEPEND="dev-build/rocm-cmake:${SLOT}"

src_prepare() {
	default

	# No client is wanted.
	sed -e "/apply_omp_settings/a return()" -i clients/CMakeLists.txt || die
	sed -e "s/if(ROCTRACER_INCLUDE_DIR/if(ROCBLAS_ENABLE_MARKER AND ROCTRACER_INCLUDE_DIR/" \
		-i library/CMakeLists.txt || die
}
