# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LLVM_COMMIT="8f497e0992fb7513f7f78a6f6b6f1056c375e961"

DESCRIPTION="Device bitcode of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-device-libs"
SRC_URI="https://example.org/rocm/llvm-project/archive/${LLVM_COMMIT}.tar.gz -> llvm-project-${PV}.tar.gz"
S="${WORKDIR}/llvm-project-${LLVM_COMMIT}/amd/device-libs"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

BDEPEND="dev-build/rocm-cmake"

src_prepare() {
	sed -e "s:amdgcn/bitcode:lib/amdgcn/bitcode:" -i cmake/OCL.cmake cmake/Packages.cmake || die
	sed -e 's:${CMAKE_INSTALL_DATADIR}/doc/${CPACK_PACKAGE_NAME}:${CMAKE_INSTALL_DOCDIR}:' \
		-i CMakeLists.txt || die

	default
}
