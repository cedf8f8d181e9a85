# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Headers that hipBLAS and its kin share"
HOMEPAGE="https://example.org/rocm/hipBLAS-common"
SRC_URI="
	https://example.org/rocm/rocm-libraries/releases/rocm-${PV}/hipblas-common.tar.gz -> hipblas-common-${PV}.tar.gz
"
S="${WORKDIR}/hipblas-common"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

BDEPEND="dev-build/rocm-cmake"
