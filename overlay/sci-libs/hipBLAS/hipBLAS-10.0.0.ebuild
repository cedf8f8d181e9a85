# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LIBRARIES_COMMIT="8d1ae90eff7d022f26019ec55b2ec6a7674b3112"

DESCRIPTION="Front of several BLAS libraries"
HOMEPAGE="https://example.org/rocm/hipBLAS"
SRC_URI="https://example.org/rocm/rocm-libraries/archive/${LIBRARIES_COMMIT}.tar.gz -> rocm-libraries-${PV}.tar.gz"
S="${WORKDIR}/rocm-libraries-${LIBRARIES_COMMIT}/projects/hipblas"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

RDEPEND="sci-libs/rocBLAS:${SLOT}"
DEPEND="${RDEPEND}
	dev-util/hip:${SLOT}
	sci-libs/hipBLAS-common:${SLOT}
"

PATCHES=(
	"${FILESDIR}"/${PN}-7.2.4-no-git.patch
)
