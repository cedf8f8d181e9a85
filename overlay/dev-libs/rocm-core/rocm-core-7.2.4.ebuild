# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Version information of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-core"
SRC_URI="https://example.org/rocm/rocm-systems/releases/rocm-${PV}/rocm-core.tar.gz -> rocm-core-${PV}.tar.gz"
S="${WORKDIR}/${PN}"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

RDEPEND="!<dev-util/hip-7.0"
