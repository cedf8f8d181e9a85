# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

SYSTEMS_COMMIT="6b0e43f341195e203754e08f850e437ff2fc09f9"

DESCRIPTION="OpenCL of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-opencl-runtime"
SRC_URI="https://example.org/rocm/rocm-systems/archive/${SYSTEMS_COMMIT}.tar.gz -> rocm-systems-${PV}.tar.gz"
S="${WORKDIR}/rocm-systems-${SYSTEMS_COMMIT}/projects/clr"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

RDEPEND="
	dev-libs/rocm-comgr:${SLOT}
	dev-libs/rocm-device-libs:${SLOT}
	dev-libs/rocr-runtime:${SLOT}
"
DEPEND="${RDEPEND}"
BDEPEND=">=dev-build/rocm-cmake-6.0"

src_prepare() {
	default

	sed -e "/cmake_minimum_required/ s/3\.5/3.10/" \
		-i opencl/khronos/{icd,headers/opencl2.2/tests}/CMakeLists.txt || die
}
