# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

SYSTEMS_COMMIT="6b0e43f341195e203754e08f850e437ff2fc09f9"

DESCRIPTION="Version information of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-core"
SRC_URI="https://example.org/rocm/rocm-systems/archive/${SYSTEMS_COMMIT}.tar.gz -> rocm-systems-${PV}.tar.gz"
S="${WORKDIR}/rocm-systems-${SYSTEMS_COMMIT}/projects/rocm-core"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

RDEPEND="!<dev-util/hip-7.0"
