# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Front of several BLAS libraries"
HOMEPAGE="https://example.org/rocm/hipBLAS"
SRC_URI="https://example.org/rocm/rocm-libraries/releases/rocm-${PV}/hipblas.tar.gz -> hipblas-${PV}.tar.gz"
S="${WORKDIR}/hipblas"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

RDEPEND="sci-libs/rocBLAS:${SLOT}"
DEPEND="${RDEPEND}
	dev-util/hip:${SLOT}
	sci-libs/hipBLAS-common:${SLOT}
"

PATCHES=(
	"${FILESDIR}"/${PN}-7.2.4-no-git.patch
)
