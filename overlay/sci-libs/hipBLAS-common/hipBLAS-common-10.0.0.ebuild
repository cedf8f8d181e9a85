# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LIBRARIES_COMMIT="8d1ae90eff7d022f26019ec55b2ec6a7674b3112"

DESCRIPTION="Headers that hipBLAS and its kin share"
HOMEPAGE="https://example.org/rocm/hipBLAS-common"
SRC_URI="https://example.org/rocm/rocm-libraries/archive/${LIBRARIES_COMMIT}.tar.gz -> rocm-libraries-${PV}.tar.gz"
S="${WORKDIR}/rocm-libraries-${LIBRARIES_COMMIT}/projects/hipblas-common"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

BDEPEND="dev-build/rocm-cmake"
