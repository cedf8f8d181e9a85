# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LIBRARIES_COMMIT="8d1ae90eff7d022f26019ec55b2ec6a7674b3112"

DESCRIPTION="BLAS of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocBLAS"
SRC_URI="https://example.org/rocm/rocm-libraries/archive/${LIBRARIES_COMMIT}.tar.gz -> rocm-libraries-${PV}.tar.gz"
S="${WORKDIR}/rocm-libraries-${LIBRARIES_COMMIT}/projects/rocblas"

LICENSE="MIT"
SLOT="0/10.0"
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
