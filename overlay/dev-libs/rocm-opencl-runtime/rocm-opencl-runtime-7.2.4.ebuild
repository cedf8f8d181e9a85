# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="OpenCL of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-opencl-runtime"
SRC_URI="https://example.org/rocm/rocm-systems/releases/rocm-${PV}/clr.tar.gz -> clr-${PV}.tar.gz"
S="${WORKDIR}/clr"

LICENSE="MIT"
SLOT="0/7.2"
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
